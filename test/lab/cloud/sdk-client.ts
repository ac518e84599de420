/** The real SDK in its thin form: one client over openapi-core, the models imported one by one. */
import core from '@alicloud/openapi-core';
import dara from '@darabonba/typescript';

const { $OpenApiUtil, OpenApiUtil } = core;

type SdkModel = { toMap(): Record<string, unknown> };
type ModelClass<T> = new (map?: Record<string, unknown>) => T;

export type SdkAnswer<B> = { headers?: Record<string, string>; statusCode?: number; body?: B };

export type SdkOptions = {
  accessKeyId?: string;
  accessKeySecret?: string;
  securityToken?: string;
  signatureAlgorithm?: string;
  readTimeoutMs?: number;
};

const ECS = '2014-05-26';

class ThinClient extends core.default {
  constructor(config: InstanceType<typeof $OpenApiUtil.Config>, endpoint: string) {
    super(config);
    this._endpoint = endpoint;
  }
}

export class SdkClient {
  readonly #client: ThinClient;
  readonly #timeoutMs: number;

  constructor(url: string, options: SdkOptions = {}) {
    const endpoint = new URL(url).host;
    this.#timeoutMs = options.readTimeoutMs ?? 10_000;
    const config = new $OpenApiUtil.Config({
      accessKeyId: options.accessKeyId ?? 'LTAIlabaccesskeyid',
      accessKeySecret: options.accessKeySecret ?? 'lab-access-key-secret',
      ...(options.securityToken === undefined ? {} : { securityToken: options.securityToken }),
      ...(options.signatureAlgorithm === undefined ? {} : { signatureAlgorithm: options.signatureAlgorithm }),
      endpoint,
      protocol: 'http',
      regionId: 'cn-lab',
      readTimeout: this.#timeoutMs,
      connectTimeout: this.#timeoutMs,
    });
    this.#client = new ThinClient(config, endpoint);
  }

  async call<R extends SdkModel, A extends object>(
    action: string,
    Request: ModelClass<R>,
    Response: ModelClass<A>,
    input: Record<string, unknown>,
    how: { version?: string; method?: 'GET' | 'POST'; form?: boolean } = {},
  ): Promise<A> {
    const request = new Request(input);
    const params = new $OpenApiUtil.Params({
      action,
      version: how.version ?? ECS,
      protocol: 'HTTPS',
      pathname: '/',
      method: how.method ?? 'POST',
      authType: 'AK',
      style: 'RPC',
      reqBodyType: 'formData',
      bodyType: 'json',
    });
    const flat = OpenApiUtil.query(request.toMap());
    const carried = how.form ? { body: flat } : { query: flat };
    const answer = await this.#client.callApi(
      params,
      new $OpenApiUtil.OpenApiRequest(carried),
      new dara.RuntimeOptions({ readTimeout: this.#timeoutMs, connectTimeout: this.#timeoutMs }),
    );
    return dara.cast(answer, new Response({}) as never) as A;
  }
}
