/**
 * The OpenAPI endpoint: ECS, VPC and STS on one address, told apart by action and version.
 *
 * Answers are JSON always; `Format=XML`, which the real gateway takes as its default, is not there.
 * Source: OpenAPI gateway as the SDK sees it: error bodies, response headers.
 */
import type { ServerResponse } from 'node:http';
import { CloudError, cloudError, injectedError } from '../../vpc/errors.ts';
import type { Answer } from '../../vpc/gateway.ts';
import type { ApiName, Input } from '../../vpc/requests.ts';
import { isApiName, WIRE_APIS } from './apis.ts';
import { Authentication, type AuthenticCall } from './authentication.ts';
import { send, sendInstead } from './http-answer.ts';
import type { HttpMessage } from './http-message.ts';
import type { KeyRing } from './keys.ts';
import type { LiveCloud } from './live-cloud.ts';
import { ASSUME_ROLE_WITH_OIDC, STS_VERSION, type Sts } from './sts.ts';
import { ECS_VERSION, VPC_VERSION } from './wire-api.ts';
import { WireParams } from './wire-params.ts';

const JSON_TYPE = 'application/json;charset=utf-8';

export class OpenApi {
  readonly #cloud: LiveCloud;
  readonly #authentication: Authentication;
  readonly #sts: Sts;

  constructor(cloud: LiveCloud, keys: KeyRing, sts: Sts) {
    this.#cloud = cloud;
    this.#sts = sts;
    this.#authentication = new Authentication(keys);
  }

  async answer(message: HttpMessage, response: ServerResponse): Promise<void> {
    let call: AuthenticCall = { action: actionOf(message), version: '', params: {} };
    response.setHeader('date', new Date(this.#cloud.wallMs()).toUTCString());
    try {
      if (call.action === ASSUME_ROLE_WITH_OIDC && message.headers.authorization === undefined) {
        await this.#assumeRole(message, response);
        return;
      }
      call = this.#authentication.check(message, this.#cloud.wallMs());
      await this.#perform(call, message, response);
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      const { requestId, status } = this.#cloud.gateway.refuse(
        { api: call.action, params: call.params },
        error,
        this.#cloud.nowMs(),
      );
      const body = errorBody(error.code, error.message, requestId, hostOf(message));
      send(response, status, JSON_TYPE, body, gatewayHeaders(requestId));
    }
  }

  async #perform(call: AuthenticCall, message: HttpMessage, response: ServerResponse): Promise<void> {
    const { action, version, params } = call;
    if (version !== ECS_VERSION && version !== VPC_VERSION) throw cloudError('InvalidVersion.NotFound', version);
    if (!isApiName(action) || WIRE_APIS[action].version !== version) throw cloudError('InvalidAction.NotFound');
    const { regionId } = this.#cloud.model;
    const region = params.RegionId ?? regionId;
    if (region !== '' && region !== regionId) throw cloudError('Forbidden.RegionId', region);
    await this.#run(action, params, message, response);
  }

  /** Without a signature; faults apply, and the ledger has the call without its token. */
  async #assumeRole(message: HttpMessage, response: ServerResponse): Promise<void> {
    const { live, gateway } = { live: this.#cloud, gateway: this.#cloud.gateway };
    const all = Object.fromEntries([...message.query, ...new URLSearchParams(message.body.toString('utf8'))]);
    const { OIDCToken: _, ...params } = all;
    const api = ASSUME_ROLE_WITH_OIDC;
    const verdict = gateway.faults.take(api, params);
    if (verdict.heldBy !== null) await live.held(verdict.heldBy);
    const nowMs = live.nowMs();
    await live.until(nowMs + verdict.delayMs);
    if (verdict.fail !== null) throw injectedError(verdict.fail.code, verdict.fail.status, verdict.fail.message);
    if (all.Version !== STS_VERSION) throw cloudError('InvalidVersion.NotFound', all.Version ?? '');
    const answer = this.#sts.assumeRoleWithOidc(all, live.wallMs());
    const requestId = live.model.newRequestId();
    gateway.ledger.write({
      ...{ api, params, requestId, atMs: nowMs, answerMs: live.nowMs(), outcome: 'ok', status: 200 },
      ...{ instanceId: null, changed: false, replayed: false, faultIds: verdict.faultIds },
    });
    const body = JSON.stringify({ RequestId: requestId, ...answer });
    const instead = verdict.drop === null ? verdict.reply : { drop: verdict.drop };
    if (instead !== null) sendInstead(response, instead, body);
    else send(response, 200, JSON_TYPE, body, gatewayHeaders(requestId));
  }

  async #run<A extends ApiName>(
    api: A,
    params: Readonly<Record<string, string>>,
    message: HttpMessage,
    response: ServerResponse,
  ): Promise<void> {
    const wire = WIRE_APIS[api];
    const read = new WireParams(params);
    const input = wire.parse(read);
    const clientToken = wire.idempotent ? read.text('ClientToken') : null;
    const answer = await this.#cloud.call({ api, input, params, clientToken });
    const body = this.#body(api, answer, input, hostOf(message));
    if (answer.instead !== null) sendInstead(response, answer.instead, body);
    else
      send(response, answer.result.ok ? 200 : answer.result.status, JSON_TYPE, body, gatewayHeaders(answer.requestId));
  }

  #body<A extends ApiName>(api: A, answer: Answer<A>, input: Input<A>, host: string): string {
    const { result, requestId } = answer;
    if (!result.ok) return errorBody(result.code, result.message, requestId, host);
    const rendered = WIRE_APIS[api].render(result.output, this.#cloud.model, input);
    return JSON.stringify({ RequestId: requestId, ...rendered });
  }
}

function errorBody(code: string, message: string, requestId: string, host: string): string {
  const Recommend = `https://next.api.aliyun.com/troubleshoot?q=${encodeURIComponent(code)}`;
  return JSON.stringify({ RequestId: requestId, HostId: host, Code: code, Message: message, Recommend });
}

function gatewayHeaders(requestId: string): Record<string, string> {
  return {
    'x-acs-request-id': requestId,
    'x-acs-trace-id': requestId.replaceAll('-', '').toLowerCase(),
    vary: 'Accept-Encoding',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': '*',
  };
}

function hostOf(message: HttpMessage): string {
  return message.headers.host ?? '';
}

/** For the ledger alone, when the signature cannot be trusted. */
function actionOf(message: HttpMessage): string {
  const header = message.headers['x-acs-action'];
  return (Array.isArray(header) ? header[0] : header) ?? message.query.get('Action') ?? '';
}
