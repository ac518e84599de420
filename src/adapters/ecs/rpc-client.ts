/**
 * The SDK's signing and transport without its client classes: those two pull in every model of ECS and VPC (137 MB, half a
 * second), while the core and the models of the calls we make cost a tenth.
 *
 * The SDK has no AbortSignal, so an abandoned call runs on in the background until its time-out; whoever retries a mutating call
 * relies on its ClientToken. The SDK's own retries stay off: when to ask again is decided by charts. Repeated here, once, are only calls
 * that the gateway turned away unseen, for the key or the nonce that signed them.
 */
import * as core from '@alicloud/openapi-core';
import * as dara from '@darabonba/typescript';
import type { CloudApi } from '../../core/api-rates.ts';
import { cloudActionOf } from '../../core/cloud-errors.ts';
import { EnactorError, failureOf } from '../../core/errors.ts';
import { CloudError } from '../../ports/cloud.ts';
import type { AccessKey, Credentials } from '../../ports/credentials.ts';
import { withKey } from '../credentials/with-key.ts';
import type { CallTurns } from './call-turns.ts';
import type { ClockSkew } from './clock-skew.ts';
import { translated } from './failure.ts';
import { inTurn, unlessThrottled } from './in-turn.ts';

export type RpcEndpoint = {
  /** `host` or `host:port`. */
  readonly endpoint: string;
  readonly scheme: 'http' | 'https';
  /** `2014-05-26` for ECS, `2016-04-28` for VPC. */
  readonly version: string;
  readonly credentials: Credentials;
  readonly skew: ClockSkew;
  readonly turns: CallTurns;
  readonly timeoutMs: number;
  /** Hears of each attempt with its outcome: `ok`, the cloud's code, or ours when it said none. */
  readonly onCall?: OnCall;
};

/** `silence`: why there was no answer; null when the cloud has answered, whatever it said. */
export type OnCall = (api: string, code: string, ms: number, silence: string | null) => void;

type ModelClass<T> = new (map?: { [key: string]: unknown }) => T;

export type RpcClient = {
  /** The answer's body. Rejects with CloudError, or EnactorError `cancelled` as soon as `signal` fires. */
  call<Body>(
    action: CloudApi,
    Request: ModelClass<dara.Model>,
    Response: ModelClass<dara.Model & { body?: Body }>,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    /** Nobody waits for it. */
    background?: boolean,
  ): Promise<Body>;
};

/** The package is CommonJS: an ES module finds its default export one level down. */
const CoreClient = core.default.default;
type CoreClient = InstanceType<typeof CoreClient>;

export function rpcClient(options: RpcEndpoint): RpcClient {
  const { credentials, skew, turns, endpoint, scheme, onCall } = options;
  let last: { readonly key: AccessKey; readonly client: CoreClient } | null = null;

  /** Nonce, time stamp and signature are made by it for each call. */
  function clientWith(key: AccessKey): CoreClient {
    if (last?.key !== key) last = { key, client: signingClient(options, key) };
    return last.client;
  }

  return {
    async call(action, Request, Response, input, signal, background = false) {
      const query = core.OpenApiUtil.query(new Request(input).toMap());
      const who = callerOf(input);
      const once = async (key: AccessKey) => {
        try {
          const answer = await raced(callApi(clientWith(key), options, action, query), action, signal);
          skew.note(answer.headers?.date);
          if (answer.body === null || typeof answer.body !== 'object')
            throw new SyntaxError('the body is no JSON object');
          const { body } = dara.cast(answer, new Response({}));
          if (body === undefined) throw new SyntaxError('the body is missing');
          return body;
        } catch (thrown) {
          throw translated(action, thrown);
        }
      };
      /** Each attempt waits for its turn, those with another key too. */
      const attempt = (key: AccessKey) =>
        inTurn(turns, { api: action, who, background, signal }, async () => {
          const startMs = performance.now();
          const told = (code: string, silence: string | null = null) =>
            onCall?.(action, code, performance.now() - startMs, silence);
          try {
            const body = await once(key);
            told('ok');
            return body;
          } catch (thrown) {
            const { code, detail } = failureOf(thrown);
            const said = (thrown instanceof CloudError && thrown.cloudCode) || code;
            told(said, code === 'cloudUnreachable' ? detail : null);
            throw thrown;
          }
        });
      let resigned = false;
      const signed = async () => {
        try {
          return await withKey(credentials, signal, attempt);
        } catch (thrown) {
          if (resigned || !(thrown instanceof CloudError) || thrown.cloudCode === '') throw thrown;
          if (cloudActionOf(thrown.cloudCode) !== 'signAnew') throw thrown;
          resigned = true;
          return await withKey(credentials, signal, attempt);
        }
      };
      try {
        return await unlessThrottled(turns, action, signed);
      } catch (thrown) {
        if (!(thrown instanceof CloudError) || thrown.cloudCode === '') throw thrown;
        if (thrown.code === 'permission') turns.forbidden(action, who, thrown);
        if (thrown.code === 'clockSkew') throw await skew.explained(thrown, `${scheme}://${endpoint}/`);
        throw thrown;
      }
    },
  };
}

/** Between whom an API's calls are shared out: what they are about. */
function callerOf(input: Readonly<Record<string, unknown>>): string {
  const { networkInterfaceId, vSwitchId } = input;
  return [networkInterfaceId, vSwitchId]
    .flat()
    .filter((id) => typeof id === 'string')
    .slice(0, 1)
    .join('');
}

function signingClient(options: RpcEndpoint, key: AccessKey): CoreClient {
  const token = key.securityToken();
  const client = new CoreClient(
    new core.$OpenApiUtil.Config({
      accessKeyId: key.accessKeyId,
      accessKeySecret: key.accessKeySecret(),
      ...(token === null ? {} : { securityToken: token }),
      endpoint: options.endpoint,
      protocol: options.scheme,
      // The "connect" time-out is an idle time-out that goes on after the connect: a lower one would win over the read time-out.
      readTimeout: options.timeoutMs,
      connectTimeout: options.timeoutMs,
    }),
  );
  client._endpoint = options.endpoint;
  return client;
}

type SdkAnswer = { readonly body: unknown; readonly headers?: Readonly<Record<string, string | undefined>> };

async function callApi(
  client: CoreClient,
  options: RpcEndpoint,
  action: string,
  query: { [key: string]: string },
): Promise<SdkAnswer> {
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
  const request = new core.$OpenApiUtil.OpenApiRequest({ query });
  return (await client.callApi(params, request, new dara.RuntimeOptions({}))) as SdkAnswer;
}

function raced<T>(call: Promise<T>, action: string, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = () => reject(new EnactorError('cancelled', `${action}: the call was given up`));
    signal.addEventListener('abort', cancel, { once: true });
    call.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
    if (signal.aborted) cancel();
  });
}
