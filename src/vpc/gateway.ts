/**
 * What stands before the model: throttling, ClientTokens, planted faults and the ledger.
 *
 * Pure like the model: a call is answered as a value that says when, and how, the caller gets it. A held call comes back with
 * the way to go on; who drives the gateway keeps it until the fault is released.
 */
import { ClientTokens, requestText } from './client-tokens.ts';
import { CloudError, cloudError, injectedError } from './errors.ts';
import { FaultPlan, type Verdict } from './faults.ts';
import { Ledger } from './ledger.ts';
import { mutates, type VpcModel } from './model.ts';
import type { ApiName, Input, Output } from './requests.ts';

export type Call<A extends ApiName> = {
  readonly api: A;
  readonly input: Input<A>;
  /** As on the wire; for the ledger and for faults that match on them. */
  readonly params: Readonly<Record<string, string>>;
  readonly clientToken: string | null;
};

export type Answer<A extends ApiName> = {
  readonly kind: 'answer';
  readonly requestId: string;
  readonly answerMs: number;
  readonly result:
    | { readonly ok: true; readonly output: Output<A> }
    | { readonly ok: false; readonly code: string; readonly message: string; readonly status: number };
  /** null: as the result says; else what reaches the caller in its place. */
  readonly instead:
    | { readonly drop: 'close' | 'cut' | 'hang' }
    | { readonly status: number; readonly contentType: string; readonly body: string }
    | null;
};

export type Held<A extends ApiName> = {
  readonly kind: 'held';
  readonly heldBy: string;
  readonly goOn: (nowMs: number) => Answer<A>;
};

const MINUTE_MS = 60_000;

export class CloudGateway {
  readonly model: VpcModel;
  readonly faults = new FaultPlan();
  readonly ledger = new Ledger();
  readonly #tokens = new ClientTokens();
  readonly #callsInMinute = new Map<string, { minute: number; calls: number }>();
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(model: VpcModel) {
    this.model = model;
  }

  call<A extends ApiName>(call: Call<A>, nowMs: number): Answer<A> | Held<A> {
    const verdict = this.faults.take(call.api, call.params);
    if (verdict.heldBy === null) return this.#answer(call, verdict, nowMs);
    return { kind: 'held', heldBy: verdict.heldBy, goOn: (later) => this.#answer(call, verdict, later) };
  }

  /** A call turned away before it became one: bad signature, unknown action, missing parameter. */
  refuse(
    refused: { readonly api: string; readonly params: Readonly<Record<string, string>> },
    error: CloudError,
    nowMs: number,
  ): { readonly requestId: string; readonly status: number } {
    const requestId = this.model.newRequestId();
    const status = error.statusIn(refused.api);
    this.ledger.write({
      ...refused,
      atMs: nowMs,
      answerMs: nowMs,
      outcome: error.code,
      status,
      requestId,
      instanceId: null,
      changed: false,
      replayed: false,
      faultIds: [],
    });
    return { requestId, status };
  }

  #answer<A extends ApiName>(call: Call<A>, verdict: Verdict, nowMs: number): Answer<A> {
    const requestId = this.model.newRequestId();
    const instanceId = this.#instanceIdOf(call);
    const { result, answerMs, replayed } = this.#result(call, verdict, nowMs);
    this.ledger.write({
      atMs: nowMs,
      answerMs,
      api: call.api,
      params: call.params,
      outcome: result.ok ? 'ok' : result.code,
      status: result.ok ? 200 : result.status,
      requestId,
      instanceId: instanceId ?? this.#instanceIdOf(call),
      changed: result.ok && !replayed && mutates(call.api),
      replayed,
      faultIds: verdict.faultIds,
    });
    const instead = verdict.drop === null ? verdict.reply : { drop: verdict.drop };
    return { kind: 'answer', requestId, answerMs, result, instead };
  }

  #result<A extends ApiName>(call: Call<A>, verdict: Verdict, nowMs: number) {
    const answerMs = nowMs + this.model.callMs(call.api) + verdict.delayMs;
    try {
      this.#throttle(call.api, nowMs);
      if (verdict.fail !== null) throw injectedError(verdict.fail.code, verdict.fail.status, verdict.fail.message);
      if (verdict.reply?.carriedOut === false) throw injectedError('NotCarriedOut', verdict.reply.status, null);
      const moment = { nowMs, answerMs, transition: verdict.transition };
      return this.#once(call, moment);
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      const { code, message } = error;
      return {
        result: { ok: false as const, code, message, status: error.statusIn(call.api) },
        answerMs,
        replayed: false,
      };
    }
  }

  /** Carries the call out, unless its ClientToken says that this has been done. */
  #once<A extends ApiName>(call: Call<A>, moment: Parameters<VpcModel['perform']>[2]) {
    const { api, input, clientToken } = call;
    const { answerMs } = moment;
    if (clientToken === null) {
      const output = this.model.perform(api, input, moment);
      return { result: { ok: true as const, output }, answerMs, replayed: false };
    }
    const request = requestText(input);
    const earlier = this.#tokens.recall(api, clientToken, request);
    if (earlier !== null) {
      const output = earlier.output as Output<A>; // remembered under this API's name
      return { result: { ok: true as const, output }, answerMs: Math.max(answerMs, earlier.answerMs), replayed: true };
    }
    try {
      const output = this.model.perform(api, input, moment);
      this.#tokens.remember(api, clientToken, request, { output, failed: false, answerMs });
      return { result: { ok: true as const, output }, answerMs, replayed: false };
    } catch (error) {
      const burns = error instanceof CloudError && !error.early;
      if (burns) this.#tokens.remember(api, clientToken, request, { output: null, failed: true, answerMs });
      throw error;
    }
  }

  /** Source: ECS API throttling: counted per API and calendar minute; allowed again in the next one. */
  #throttle(api: ApiName, nowMs: number): void {
    this.#drawToken(api, nowMs);
    const limit = this.model.settings.throttlePerMinute[api];
    if (limit === undefined) return;
    const minute = Math.floor(nowMs / MINUTE_MS);
    const before = this.#callsInMinute.get(api);
    const calls = (before?.minute === minute ? before.calls : 0) + 1;
    this.#callsInMinute.set(api, { minute, calls });
    if (calls > limit) throw cloudError('Throttling.User');
  }

  #drawToken(api: ApiName, nowMs: number): void {
    const { throttlePerSecond, speed } = this.model.settings;
    const perSecond = throttlePerSecond[api] ?? throttlePerSecond['*'];
    if (perSecond === undefined) return;
    const full = Math.max(1, perSecond);
    const { tokens, atMs } = this.#buckets.get(api) ?? { tokens: full, atMs: nowMs };
    const now = Math.min(full, tokens + ((nowMs - atMs) / 1_000) * speed * perSecond);
    this.#buckets.set(api, { tokens: now < 1 ? now : now - 1, atMs: nowMs });
    if (now < 1) throw cloudError('Throttling.User');
  }

  #instanceIdOf(call: { readonly params: Readonly<Record<string, string>> }): string | null {
    const { InstanceId, NetworkInterfaceId } = call.params;
    return InstanceId ?? (NetworkInterfaceId === undefined ? null : this.model.instanceOf(NetworkInterfaceId));
  }
}
