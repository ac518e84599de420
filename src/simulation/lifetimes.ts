/**
 * Who gives out what ends: keys of RAM roles, tokens of the metadata service, tokens of service accounts. Whoever shows one that has ended is
 * turned away, and that is counted; where nobody took them back before their time it is a fault of whoever held them.
 *
 * Source: ECS "Instance RAM roles": six hours, new ones half an hour before the end; ECS "Use instance metadata", security-hardened mode: as
 * long as its holder wished, at most six hours; kubelet: a bound service account token is written anew when a fifth of its life is left.
 */
import type { Report } from './violation.ts';

export type Lifetimes = {
  /** Of the keys of the instance's role. */
  readonly keyMs: number;
  /** Of the service account's token. */
  readonly accountTokenMs: number;
};

export type Kind = 'key' | 'metadataToken' | 'accountToken';
export type IssuedKey = { readonly id: string; readonly endMs: number };

type Issued = { readonly holder: string; readonly endMs: number; takenBack: boolean };

const RENEWED_BEFORE_END_MS = 30 * 60_000;
const ROTATED_AT = 0.8;
/** Ended ones are known for so long: whoever shows one later than that shows what nobody knows. */
const REMEMBERED_MS = 24 * 3_600_000;

export class Issuers {
  readonly lifetimes: Lifetimes;
  readonly #nowMs: () => number;
  readonly #report: Report;
  readonly #issued: Readonly<Record<Kind, Map<string, Issued>>> = {
    key: new Map(),
    metadataToken: new Map(),
    accountToken: new Map(),
  };
  /** Holder -> what he was given last. */
  readonly #keys = new Map<string, IssuedKey>();
  readonly #accountTokens = new Map<string, { readonly token: string; readonly bornMs: number }>();
  /** Until when kubelet writes no new tokens, by holder. */
  readonly #sleepsUntilMs = new Map<string, number>();
  /** How many were given out, and how many were turned away. */
  readonly given: Record<Kind, number> = { key: 0, metadataToken: 0, accountToken: 0 };
  readonly turnedAway: Record<Kind, number> = { key: 0, metadataToken: 0, accountToken: 0 };

  constructor(lifetimes: Lifetimes, nowMs: () => number, report: Report) {
    this.lifetimes = lifetimes;
    this.#nowMs = nowMs;
    this.#report = report;
  }

  /** The role's current key, a new one when half an hour of the old one, or half of a shorter life, is left. */
  key(holder: string): IssuedKey {
    const current = this.#keys.get(holder);
    const { keyMs } = this.lifetimes;
    if (current !== undefined && this.#nowMs() < current.endMs - Math.min(RENEWED_BEFORE_END_MS, keyMs / 2))
      return current;
    // The metadata service tells whole seconds.
    const endMs = Math.floor((this.#nowMs() + keyMs) / 1_000) * 1_000;
    const fresh = { id: this.#give('key', holder, endMs), endMs };
    this.#keys.set(holder, fresh);
    return fresh;
  }

  metadataToken(holder: string, lifeMs: number): string {
    return this.#give('metadataToken', holder, this.#nowMs() + lifeMs);
  }

  /** What is in the file that kubelet writes. */
  accountToken(holder: string): string {
    const current = this.#accountTokens.get(holder);
    const nowMs = this.#nowMs();
    const isFresh = current !== undefined && nowMs < current.bornMs + ROTATED_AT * this.lifetimes.accountTokenMs;
    if (current !== undefined && (isFresh || nowMs < (this.#sleepsUntilMs.get(holder) ?? 0))) return current.token;
    const token = this.#give('accountToken', holder, nowMs + this.lifetimes.accountTokenMs);
    this.#accountTokens.set(holder, { token, bornMs: nowMs });
    return token;
  }

  /** Kubelet is away: the file stays as it is. */
  kubeletSleeps(holder: string, forMs: number): void {
    this.accountToken(holder);
    this.#sleepsUntilMs.set(holder, this.#nowMs() + forMs);
  }

  /** All that a holder has of a kind ends now. */
  takeBack(kind: Kind, holder: string): void {
    for (const issued of this.#issued[kind].values()) if (issued.holder === holder) issued.takenBack = true;
    if (kind === 'key') this.#keys.delete(holder);
    if (kind === 'accountToken') this.#accountTokens.delete(holder);
  }

  /** Whether it opens now. One that ended in its own time must not be shown any more, unless its giver gives no other. */
  opens(kind: Kind, value: string, holder: string): boolean {
    const issued = this.#issued[kind].get(value);
    const nowMs = this.#nowMs();
    if (issued !== undefined && issued.holder === holder && !issued.takenBack && nowMs < issued.endMs) return true;
    this.turnedAway[kind] += 1;
    const excused = issued?.takenBack === true || (kind === 'accountToken' && this.#wasAsleep(holder, issued));
    if (!excused)
      this.#report(
        'credentials',
        issued === undefined
          ? `${holder} shows a ${kind} that nobody gave out`
          : `${holder} shows a ${kind} that ended ${nowMs - issued.endMs} ms ago`,
      );
    return false;
  }

  /** Those that are known by now, of all kinds. */
  get size(): number {
    return Object.values(this.#issued).reduce((sum, { size }) => sum + size, 0);
  }

  #wasAsleep(holder: string, issued: Issued | undefined): boolean {
    return issued !== undefined && (this.#sleepsUntilMs.get(holder) ?? 0) >= issued.endMs;
  }

  #give(kind: Kind, holder: string, endMs: number): string {
    const all = this.#issued[kind];
    for (const [value, issued] of all) {
      if (issued.endMs > this.#nowMs() - REMEMBERED_MS) break;
      all.delete(value);
    }
    this.given[kind] += 1;
    const value = `${kind}-${holder}-${this.given[kind]}`;
    all.set(value, { holder, endMs, takenBack: false });
    return value;
  }
}
