/**
 * Looks by which ENIs are compared with the cloud: one Describe of all of the node's ENIs serves each that wants to know soon after.
 *
 * What was shown a while ago counts only where it agrees with the book of now: then nothing is to be learned. Where it differs, the ENI is
 * asked about anew, since our own calls may have made the difference meanwhile. Each call tells when it was asked, so that who is shown
 * something old looks again the sooner.
 */
import type { CloudEni } from '../src/core/eni.ts';
import { isAsKnown, type Owned } from '../src/core/two-witnesses.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Cloud } from '../src/ports/cloud.ts';

/** Source: DescribeNetworkInterfaces, NetworkInterfaceId.N at most 100. */
const TOGETHER_MAX = 100;

export type Shown = { readonly askedMs: number; readonly eni: CloudEni | null };
type Look = { readonly askedMs: number; readonly answeredMs: number; readonly enis: readonly CloudEni[] };

export type SharedLooksHands = {
  readonly cloud: Pick<Cloud, 'describeEnis'>;
  readonly clock: Clock;
  /** Ids of the ENIs that have an actor. */
  readonly known: () => ReadonlySet<string>;
  /** How old a look may be. */
  readonly keptMs: () => number;
};

export class SharedLooks {
  readonly #hands: SharedLooksHands;
  #underWay: Promise<Look> | null = null;
  #last: Look | null = null;

  constructor(hands: SharedLooksHands) {
    this.#hands = hands;
  }

  /** Rejects as `describeEnis` does. */
  async shown(eniId: string, book: Owned, signal: AbortSignal): Promise<Shown> {
    const { clock, keptMs } = this.#hands;
    const agreeing = (look: Look | null): Shown | null => {
      const eni = look?.enis.find((one) => one.eniId === eniId);
      // It may have waited for its turn for minutes: what counts is when it was shown.
      return look !== null && eni !== undefined && isAsKnown(eni, book) ? { askedMs: look.answeredMs, eni } : null;
    };
    const kept = this.#last;
    if (kept !== null && clock.nowMs() - kept.answeredMs < keptMs()) {
      const shown = agreeing(kept);
      if (shown !== null) return shown;
    }
    // One that fails, or is given up, is its asker's.
    if (this.#underWay !== null) {
      const joined = agreeing(await this.#underWay.catch(() => null));
      if (joined !== null) return joined;
    }
    const { askedMs, enis } = await this.#look(eniId, signal);
    return { askedMs, eni: enis.find((one) => one.eniId === eniId) ?? null };
  }

  async #look(eniId: string, signal: AbortSignal): Promise<Look> {
    const { cloud, known } = this.#hands;
    const others = [...known()].filter((id) => id !== eniId);
    const eniIds = [eniId, ...others].slice(0, TOGETHER_MAX);
    const look = this.#asked(() => cloud.describeEnis({ eniIds, background: true }, signal));
    this.#underWay ??= look;
    try {
      const done = await look;
      if (this.#last === null || this.#last.askedMs <= done.askedMs) this.#last = done;
      return done;
    } finally {
      if (this.#underWay === look) this.#underWay = null;
    }
  }

  async #asked(ask: () => Promise<readonly CloudEni[]>): Promise<Look> {
    const { clock } = this.#hands;
    const askedMs = clock.nowMs();
    const enis = await ask();
    return { askedMs, answeredMs: clock.nowMs(), enis };
  }
}
