/**
 * The simulated cloud on virtual time: the endpoint that the fakes of all nodes talk to.
 *
 * A call is on its way for a moment, is carried out, and is answered later. Once sent it is carried out even if its sender has died:
 * the cloud does not know.
 *
 * A late call is one whose answer is lost at once and that is carried out seconds later, whatever was done meanwhile. One limit: an
 * Unassign that was asked again is done once, whichever of them comes first; an address that came back to its ENI in between would go with it,
 * and nothing that a caller can do would keep it.
 */
import { type Answer, type Call, CloudGateway } from '../vpc/gateway.ts';
import type { VpcModel } from '../vpc/model.ts';
import type { ApiName, Input } from '../vpc/requests.ts';
import type { Timer, VirtualClock } from './virtual-clock.ts';

/** How a call is late: the caller's connection closes, or stays silent until he gives up. */
export type Lateness = { readonly how: 'close' | 'hang'; readonly lateMs: number };

type Kept = { readonly api: ApiName; readonly eniId: string | null; readonly goOn: () => void };

const UNASSIGNS: readonly ApiName[] = ['UnassignPrivateIpAddresses', 'UnassignIpv6Addresses'];

export class VirtualCloud {
  readonly gateway: CloudGateway;
  readonly clock: VirtualClock;
  #transition: Timer | null = null;
  /** What happens now is of a late call. */
  late = false;
  /** Late calls that are not carried out yet. */
  #kept: Kept[] = [];
  #held: { readonly heldBy: string; readonly goOn: () => void }[] = [];

  constructor(model: VpcModel, clock: VirtualClock) {
    this.gateway = new CloudGateway(model);
    this.clock = clock;
    this.touched();
  }

  get model(): VpcModel {
    return this.gateway.model;
  }

  /** Arrives after `wireMs`, unless `lost` says then that it never does; `answered` is called when the caller is to get the answer. */
  send<A extends ApiName>(
    call: Call<A>,
    wireMs: number,
    taps: {
      readonly lost: () => boolean;
      /** Why it is turned away before anybody looks at it, or null; asked as it arrives. */
      readonly refused?: () => string | null;
      /** Whether, and how, this call is late; asked as it arrives. */
      readonly late: () => Lateness | null;
      readonly carriedOut: () => void;
      readonly answered: (answer: Answer<A>) => void;
    },
  ): void {
    const carriedOut = (answer: Answer<A>): void => {
      this.touched();
      if (answer.result.ok && this.#kept.length > 0) this.#supersede(call);
      taps.carriedOut();
      this.clock.at(answer.answerMs, () => taps.answered(answer));
    };
    this.clock.after(wireMs, () => {
      if (taps.lost()) return;
      const refusal = taps.refused?.() ?? null;
      if (refusal !== null) return taps.answered(refusedAnswer(refusal, this.clock.nowMs()));
      const late = taps.late();
      if (late !== null) {
        this.#keep(call, late.lateMs);
        if (late.how === 'close') taps.answered(lostAnswer(this.clock.nowMs()));
        return;
      }
      const first = this.gateway.call(call, this.clock.nowMs());
      if (first.kind === 'answer') carriedOut(first);
      else this.#held.push({ heldBy: first.heldBy, goOn: () => carriedOut(first.goOn(this.clock.nowMs())) });
    });
  }

  /** Ends a fault; calls that it holds go on. */
  release(faultId: string): void {
    this.gateway.faults.remove(faultId);
    const free = this.#held.filter((one) => one.heldBy === faultId);
    this.#held = this.#held.filter((one) => one.heldBy !== faultId);
    for (const one of free) one.goOn();
  }

  #keep<A extends ApiName>(call: Call<A>, lateMs: number): void {
    const { input } = call;
    // There is nothing that it could take.
    if (UNASSIGNS.includes(call.api) && !this.#hasAll(input)) return;
    const one: Kept = {
      api: call.api,
      eniId: 'eniId' in input ? input.eniId : null,
      goOn: () => {
        if (!this.#kept.includes(one)) return;
        this.#kept = this.#kept.filter((other) => other !== one);
        this.late = true;
        const first = this.gateway.call(call, this.clock.nowMs());
        this.late = false;
        if (first.kind === 'held')
          this.#held.push({ heldBy: first.heldBy, goOn: () => void first.goOn(this.clock.nowMs()) });
        else if (first.result.ok) this.#supersede(call);
        this.touched();
      },
    };
    this.#kept.push(one);
    this.clock.after(lateMs, one.goOn);
  }

  #hasAll(input: object): boolean {
    const { eniId, ips } = input as Input<'UnassignPrivateIpAddresses'>;
    const eni = this.model.truth(this.clock.nowMs()).enis.find((one) => one.eniId === eniId);
    return eni !== undefined && ips.every((ip) => eni.ipv4.includes(ip) || eni.ipv6.includes(ip));
  }

  #supersede<A extends ApiName>({ api, input }: Call<A>): void {
    if (!UNASSIGNS.includes(api) || !('eniId' in input)) return;
    this.#kept = this.#kept.filter((one) => one.api !== api || one.eniId !== input.eniId);
  }

  /** Late calls are late no longer. */
  hasten(): void {
    for (const one of [...this.#kept]) one.goOn();
  }

  /** Ends all faults. */
  heal(): void {
    this.hasten();
    for (const fault of this.gateway.faults.list()) this.release(fault.id);
  }

  /** To be called after anything that may have planned a transition. */
  touched(): void {
    const dueMs = this.model.nextDueMs();
    if (this.#transition?.fire && this.#transition.atMs === dueMs) return;
    if (this.#transition !== null) this.clock.cancel(this.#transition);
    this.#transition =
      dueMs === null
        ? null
        : this.clock.at(dueMs, () => {
            this.model.advance(this.clock.nowMs());
            this.touched();
          });
  }
}

function lostAnswer(answerMs: number): Answer<never> {
  const result = { ok: false as const, code: '', message: '', status: 0 };
  return { kind: 'answer', requestId: '', answerMs, result, instead: { drop: 'close' } };
}

function refusedAnswer(code: string, answerMs: number): Answer<never> {
  const result = { ok: false as const, code, message: 'the key is not known, or has ended', status: 403 };
  return { kind: 'answer', requestId: 'turned-away', answerMs, result, instead: null };
}
