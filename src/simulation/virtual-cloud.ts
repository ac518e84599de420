/**
 * The simulated cloud on virtual time: the endpoint that the fakes of all nodes talk to.
 *
 * A call is on its way for a moment, is carried out, and is answered later. Once sent it is carried out even if its sender has died:
 * the cloud does not know.
 */
import { type Answer, type Call, CloudGateway } from '../vpc/gateway.ts';
import type { VpcModel } from '../vpc/model.ts';
import type { ApiName } from '../vpc/requests.ts';
import type { Timer, VirtualClock } from './virtual-clock.ts';

export class VirtualCloud {
  readonly gateway: CloudGateway;
  readonly clock: VirtualClock;
  #transition: Timer | null = null;
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
      readonly carriedOut: () => void;
      readonly answered: (answer: Answer<A>) => void;
    },
  ): void {
    const carriedOut = (answer: Answer<A>): void => {
      this.touched();
      taps.carriedOut();
      this.clock.at(answer.answerMs, () => taps.answered(answer));
    };
    this.clock.after(wireMs, () => {
      if (taps.lost()) return;
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

  /** Ends all faults. */
  heal(): void {
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
