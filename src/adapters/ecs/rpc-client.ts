/**
 * The SDK's signing and transport without its client classes: those two pull in every model of ECS and VPC (137 MB, half a
 * second), while the core and the models of the calls we make cost a tenth.
 *
 * The SDK has no AbortSignal, so an abandoned call runs on in the background until its time-out; whoever retries a mutating call
 * relies on its ClientToken. The SDK's own retries stay off: when to ask again is decided by charts.
 */
import * as core from '@alicloud/openapi-core';
import * as dara from '@darabonba/typescript';
import { EnactorError } from '../../core/errors.ts';
import { translated } from './failure.ts';

export type RpcEndpoint = {
  /** `host` or `host:port`. */
  readonly endpoint: string;
  readonly scheme: 'http' | 'https';
  /** `2014-05-26` for ECS, `2016-04-28` for VPC. */
  readonly version: string;
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  readonly timeoutMs: number;
};

type ModelClass<T> = new (map?: { [key: string]: unknown }) => T;

export type RpcClient = {
  /** The answer's body. Rejects with CloudError, or EnactorError `cancelled` as soon as `signal` fires. */
  call<Body>(
    action: string,
    Request: ModelClass<dara.Model>,
    Response: ModelClass<dara.Model & { body?: Body }>,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Body>;
};

/** The package is CommonJS: an ES module finds its default export one level down. */
const CoreClient = core.default.default;

export function rpcClient(options: RpcEndpoint): RpcClient {
  const client = new CoreClient(
    new core.$OpenApiUtil.Config({
      accessKeyId: options.accessKeyId,
      accessKeySecret: options.accessKeySecret,
      endpoint: options.endpoint,
      protocol: options.scheme,
      // The "connect" time-out is an idle time-out that goes on after the connect: a lower one would win over the read time-out.
      readTimeout: options.timeoutMs,
      connectTimeout: options.timeoutMs,
    }),
  );
  client._endpoint = options.endpoint;

  return {
    async call(action, Request, Response, input, signal) {
      const params = new core.$OpenApiUtil.Params({
        action,
        version: options.version,
        protocol: options.scheme.toUpperCase(),
        pathname: '/',
        method: 'POST',
        authType: 'AK',
        style: 'RPC',
        reqBodyType: 'formData',
        bodyType: 'json',
      });
      const query = core.OpenApiUtil.query(new Request(input).toMap());
      try {
        const answer = await raced(
          client.callApi(
            params,
            new core.$OpenApiUtil.OpenApiRequest({ query }),
            new dara.RuntimeOptions({}),
          ) as Promise<{
            body: unknown;
          }>,
          action,
          signal,
        );
        if (answer.body === null || typeof answer.body !== 'object')
          throw new SyntaxError('the body is no JSON object');
        const { body } = dara.cast(answer, new Response({}));
        if (body === undefined) throw new SyntaxError('the body is missing');
        return body;
      } catch (thrown) {
        throw translated(action, thrown);
      }
    },
  };
}

function raced<T>(call: Promise<T>, action: string, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = () => reject(new EnactorError('cancelled', `${action}: the call was given up`));
    signal.addEventListener('abort', cancel, { once: true });
    call.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
    if (signal.aborted) cancel();
  });
}
