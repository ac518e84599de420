/**
 * The simulated cloud on real time: one timer for the model's next transition, one for each answer that is due later.
 *
 * Time runs monotonically from the wall clock at the start, so that a clock that is set back never reorders anything.
 */
import { type Answer, type Call, CloudGateway, type Held } from '../../vpc/gateway.ts';
import { Ledger } from '../../vpc/ledger.ts';
import type { VpcModel } from '../../vpc/model.ts';
import type { ApiName } from '../../vpc/requests.ts';

type Waiting = { readonly heldBy: string; readonly goOn: () => void };

const METADATA_LEDGER_MAX = 20_000;
/** A longer timer would fire at once. Source: Node.js, setTimeout. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export class LiveCloud {
  readonly gateway: CloudGateway;
  /** Reads of the metadata service, apart from the calls: there are many. */
  readonly metadataLedger = new Ledger(METADATA_LEDGER_MAX);
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | null = null;
  readonly #answers = new Set<NodeJS.Timeout>();
  #stopped = false;

  constructor(model: VpcModel) {
    this.gateway = new CloudGateway(model);
    this.touched();
  }

  get model(): VpcModel {
    return this.gateway.model;
  }

  /** Whole milliseconds since the epoch, never going back. */
  nowMs(): number {
    return Math.floor(performance.timeOrigin + performance.now());
  }

  /** What the cloud's clock on the wall shows: the machine's time, set off as the settings say. Signatures are checked against it. */
  wallMs(): number {
    return Date.now() + this.model.settings.clockAheadMs;
  }

  /** Resolves when the caller is to get the answer, be it a refusal; a held call resolves after its release. */
  async call<A extends ApiName>(call: Call<A>): Promise<Answer<A>> {
    const first: Answer<A> | Held<A> = this.gateway.call(call, this.nowMs());
    const answer =
      first.kind === 'answer'
        ? first
        : await new Promise<Answer<A>>((resolve) => {
            const goOn = () => resolve(first.goOn(this.nowMs()));
            this.#waiting.push({ heldBy: first.heldBy, goOn });
          });
    this.touched();
    await this.until(answer.answerMs);
    return answer;
  }

  /** Lets the calls that this fault holds go on; says how many. */
  release(faultId: string): number {
    const free = this.#waiting.filter((one) => one.heldBy === faultId);
    this.#waiting = this.#waiting.filter((one) => one.heldBy !== faultId);
    for (const one of free) one.goOn();
    this.touched();
    return free.length;
  }

  /** Parks a metadata read until its fault is released. */
  held(faultId: string): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push({ heldBy: faultId, goOn: resolve }));
  }

  /** How many calls are held now, by fault. */
  holding(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { heldBy } of this.#waiting) counts[heldBy] = (counts[heldBy] ?? 0) + 1;
    return counts;
  }

  /** Resolves at `atMs` and never before it (a timer may fire early); at once when that has passed. */
  async until(atMs: number): Promise<void> {
    for (let waitMs = atMs - this.nowMs(); waitMs > 0; waitMs = atMs - this.nowMs()) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(
          () => {
            this.#answers.delete(timer);
            resolve();
          },
          Math.min(Math.ceil(waitMs), TIMER_MAX_MS),
        );
        this.#answers.add(timer);
      });
    }
  }

  /** To be called after anything that may have planned a transition. */
  touched(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const dueMs = this.model.nextDueMs();
    if (dueMs === null || this.#stopped) return;
    this.#timer = setTimeout(
      () => {
        this.model.advance(this.nowMs());
        this.touched();
      },
      Math.min(Math.max(0, dueMs - this.nowMs()), TIMER_MAX_MS),
    );
  }

  /** Ends all timers; calls under way are never answered. */
  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const timer of this.#answers) clearTimeout(timer);
    this.#answers.clear();
    this.#waiting = [];
  }
}
