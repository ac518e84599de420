/**
 * When a ping may be lost: only for what somebody has broken behind our back, only until it has had time to be repaired, and while no daemon
 * serves nothing is repaired. Everything else that is lost is a failure, the death of the daemon too: pods do not need it.
 *
 * Judged afterwards, since when a daemon serves again is not known before.
 */

/** From the breach, or from when the daemon serves again, to the repair. Events of the kernel are gathered, a repair may wait for its turn. */
export const REPAIR_MS = 5_000;

/** A packet may be under way, in this process too, when the breach comes. */
const UNDER_WAY_MS = 250;

export type Breach = {
  readonly fromMs: number;
  /** null while it still goes on (an agent that renews). */
  untilMs: number | null;
  /** Whom it concerns; null for every pod. */
  readonly ip: string | null;
  readonly what: string;
};

type Away = { readonly fromMs: number; untilMs: number | null };

export class Excuses {
  readonly #breaches: Breach[] = [];
  readonly #away: Away[] = [];

  /** Something is broken at one stroke. */
  broken(atMs: number, what: string, ip: string | null = null): void {
    this.#breaches.push({ fromMs: atMs, untilMs: atMs, ip, what });
  }

  /** Somebody begins to break something again and again; set `untilMs` at its end. */
  begun(atMs: number, what: string, ip: string | null = null): Breach {
    const breach: Breach = { fromMs: atMs, untilMs: null, ip, what };
    this.#breaches.push(breach);
    return breach;
  }

  /** The daemon is killed, or told to end. */
  gone(atMs: number): void {
    if (this.#away.at(-1)?.untilMs !== null) this.#away.push({ fromMs: atMs, untilMs: null });
  }

  serves(atMs: number): void {
    const last = this.#away.at(-1);
    if (last?.untilMs === null) last.untilMs = atMs;
  }

  /** Why what was sent by or to this address at that instant (null: by whomever) may have been lost; null when there is no excuse. */
  why(atMs: number, ip: string | null): string | null {
    const found = this.#breaches.find(
      (breach) =>
        (breach.ip === null || ip === null || breach.ip === ip) &&
        atMs >= breach.fromMs - UNDER_WAY_MS &&
        atMs <= this.#endOf(breach),
    );
    return found?.what ?? null;
  }

  /** How long some daemon has served between these instants. */
  servedMs(fromMs: number, toMs: number): number {
    const awayMs = this.#away.reduce((sum, { fromMs: goneMs, untilMs }) => {
      return sum + Math.max(0, Math.min(toMs, untilMs ?? toMs) - Math.max(fromMs, goneMs));
    }, 0);
    return toMs - fromMs - awayMs;
  }

  /** No breach is open at this instant. */
  isWhole(atMs: number): boolean {
    return this.#breaches.every((breach) => atMs > this.#endOf(breach));
  }

  #endOf({ untilMs }: Breach): number {
    let endMs = untilMs === null ? Number.POSITIVE_INFINITY : untilMs + REPAIR_MS;
    for (const away of this.#away)
      if (away.fromMs <= endMs && (away.untilMs ?? Number.POSITIVE_INFINITY) >= (untilMs ?? 0))
        endMs = Math.max(endMs, (away.untilMs ?? Number.POSITIVE_INFINITY) + REPAIR_MS);
    return endMs;
  }
}
