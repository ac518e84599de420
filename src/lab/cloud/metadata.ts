/**
 * The metadata service: one handler per instance, to be bound wherever that instance would ask (100.100.100.200:80).
 *
 * Every handler of an instance shares its tokens. Faults planted for the API `Metadata` apply; they match on `InstanceId`,
 * `Method` and `Path`.
 * Source: ECS "Use instance metadata", security-hardened mode.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Verdict } from '../../vpc/faults.ts';
import { metadataAt, metadataTree } from '../../vpc/metadata-tree.ts';
import type { MetadataView } from '../../vpc/metadata-view.ts';
import { send, sendInstead } from './http-answer.ts';
import type { KeyRing } from './keys.ts';
import type { LiveCloud } from './live-cloud.ts';
import { isoInstant } from './wire-api.ts';

const TOKEN_PATH = '/latest/api/token';
const TTL_HEADER = 'x-aliyun-ecs-metadata-token-ttl-seconds';
const TOKEN_HEADER = 'x-aliyun-ecs-metadata-token';
const TTL_MAX_SECONDS = 21_600;
const TOKENS_MAX = 10_000;
const TEXT = 'text/plain; charset=utf-8';

type Token = { readonly instanceId: string; readonly issuedMs: number; readonly untilMs: number };
type Reply = { readonly status: number; readonly body: string };

export class MetadataService {
  readonly #cloud: LiveCloud;
  readonly #keys: KeyRing;
  readonly #tokens = new Map<string, Token>();

  constructor(cloud: LiveCloud, keys: KeyRing) {
    this.#cloud = cloud;
    this.#keys = keys;
  }

  /** A node:http listener that answers as the metadata service of this instance. */
  handler(instanceId: string): RequestListener {
    return (request, response) => {
      request.resume();
      const path = (request.url ?? '/').split('?')[0] ?? '/';
      this.answer(instanceId, path, request, response).catch(() => response.socket?.destroy());
    };
  }

  /** `path` starts with `/latest` or `/2016-01-01`, or is `/`. */
  async answer(instanceId: string, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? 'GET';
    const params = { InstanceId: instanceId, Method: method, Path: path };
    const verdict = this.#cloud.gateway.faults.take('Metadata', params);
    if (verdict.heldBy !== null) await this.#cloud.held(verdict.heldBy);
    const nowMs = this.#cloud.nowMs();
    const reply = this.#reply(instanceId, path, request, verdict, nowMs);
    this.#cloud.metadataLedger.write({
      atMs: nowMs,
      answerMs: nowMs + verdict.delayMs,
      api: 'Metadata',
      params,
      outcome: reply.status === 200 ? 'ok' : String(reply.status),
      status: reply.status,
      requestId: '',
      instanceId,
      changed: false,
      replayed: false,
      faultIds: verdict.faultIds,
    });
    await this.#cloud.until(nowMs + verdict.delayMs);
    const instead = verdict.drop === null ? verdict.reply : { drop: verdict.drop };
    if (instead !== null) sendInstead(response, instead, reply.body);
    else send(response, reply.status, TEXT, reply.body);
  }

  #reply(instanceId: string, path: string, request: IncomingMessage, verdict: Verdict, nowMs: number): Reply {
    if (verdict.fail !== null) return refusal(verdict.fail.status ?? 500, verdict.fail.message ?? verdict.fail.code);
    const view = this.#cloud.model.metadata(instanceId, nowMs);
    if (view === null) return refusal(404, 'Not Found');
    if (path === TOKEN_PATH) return this.#issue(view, request, nowMs);
    if (request.method !== 'GET' && request.method !== 'HEAD') return refusal(405, 'Method Not Allowed');
    const refused = this.#checkToken(view, request, nowMs);
    if (refused !== null) return refused;
    const tree = metadataTree(view, this.#roleCredentials(view, this.#cloud.wallMs()));
    const text = metadataAt(tree, path);
    return text === null ? refusal(404, 'Not Found') : { status: 200, body: text };
  }

  #issue(view: MetadataView, request: IncomingMessage, nowMs: number): Reply {
    if (request.method !== 'PUT') return refusal(405, 'Method Not Allowed');
    if (request.headers['x-forwarded-for'] !== undefined) return refusal(403, 'Forbidden');
    const asked = request.headers[TTL_HEADER];
    const seconds = typeof asked === 'string' && /^\d+$/.test(asked) ? Number(asked) : 0;
    if (seconds < 1 || seconds > TTL_MAX_SECONDS) return refusal(400, 'Missing or Invalid Parameters');
    for (const [old, { untilMs }] of this.#tokens) {
      if (untilMs > nowMs && this.#tokens.size < TOKENS_MAX) break;
      this.#tokens.delete(old);
    }
    const token = randomBytes(30).toString('base64url');
    const untilMs = nowMs + Math.min(seconds, view.tokenMaxSeconds) * 1_000;
    this.#tokens.set(token, { instanceId: view.instanceId, issuedMs: nowMs, untilMs });
    return { status: 200, body: token };
  }

  #checkToken(view: MetadataView, request: IncomingMessage, nowMs: number): Reply | null {
    const given = request.headers[TOKEN_HEADER];
    if (given === undefined) return view.httpTokens === 'required' ? refusal(403, 'Forbidden') : null;
    const token = typeof given === 'string' ? this.#tokens.get(given) : undefined;
    const good =
      token !== undefined &&
      token.instanceId === view.instanceId &&
      nowMs < token.untilMs &&
      token.issuedMs >= view.tokensValidFromMs;
    return good ? null : refusal(401, 'Unauthorized');
  }

  #roleCredentials(view: MetadataView, nowMs: number): string | null {
    if (view.ramRole === null) return null;
    const key = this.#keys.ofRole(view.instanceId, view.ramRole, nowMs);
    return JSON.stringify({
      AccessKeyId: key.accessKeyId,
      AccessKeySecret: key.accessKeySecret,
      Expiration: isoInstant(key.endMs),
      SecurityToken: key.securityToken,
      LastUpdated: isoInstant(key.issuedMs),
      Code: 'Success',
    });
  }
}

function refusal(status: number, body: string): Reply {
  return { status, body };
}
