/**
 * What may be so for a moment, and not for long: an address that is kept for a pod without a record of that, and a pool that lacks
 * addresses which it could have.
 */
import { type EniFactoryContext, policyOf } from '../../statecharts/eni-factory-context.ts';
import { type IdlePoolContext, moveIn } from '../../statecharts/idle-pool-context.ts';
import { place } from '../core/placement.ts';
import type { Settings } from '../core/settings.ts';
import type { EniSnapshot } from './book-watch.ts';
import type { Report } from './violation.ts';

/** A record is written before its address is kept, and the address is free soon after its record has gone. */
const UNRECORDED_MS = 10_000;
/** Of the longest back-off: one for what failed, and one for the pool's own. */
const BACK_OFFS = 2;

export type Looked = {
  readonly enis: readonly EniSnapshot[];
  /** Reservations on the disk, by address. */
  readonly records: ReadonlyMap<string, string>;
  readonly factory: EniFactoryContext | undefined;
  readonly pool: IdlePoolContext | undefined;
  readonly nowMs: number;
};

export class Patience {
  readonly #settings: Settings;
  readonly #report: Report;
  readonly #unrecorded = new Map<string, number>();
  #hungrySinceMs: number | null = null;

  constructor(settings: Settings, report: Report) {
    this.#settings = settings;
    this.#report = report;
  }

  check({ enis, records, factory, pool, nowMs }: Looked): void {
    // One without a device, or on its way out, may let a rest wait.
    const serving = enis.filter((eni) => eni.matches('inUse'));
    const kept = serving.flatMap(({ context }) => context.book.filter(({ state }) => state === 'reserved'));
    const without = kept.flatMap(({ address: { ipv4 } }) => (records.has(ipv4) ? [] : [ipv4]));
    for (const ip of this.#unrecorded.keys()) if (!without.includes(ip)) this.#unrecorded.delete(ip);
    for (const ip of without) {
      const forMs = nowMs - (this.#unrecorded.get(ip) ?? nowMs);
      if (forMs === 0) this.#unrecorded.set(ip, nowMs);
      // One that ends before its time rests first, and is told apart from a cooling one only by that.
      if (forMs > UNRECORDED_MS + this.#settings.coolDownMs)
        this.#report('kept', `${ip} has been kept for ${forMs} ms without a record of that`);
    }
    if (factory !== undefined && pool !== undefined) this.#hunger(factory, moveIn(pool).grow, nowMs);
  }

  #hunger(factory: EniFactoryContext, lacking: number, nowMs: number): void {
    const grows = lacking > 0 && growsBy(factory, lacking, nowMs);
    if (!grows) {
      this.#hungrySinceMs = null;
      return;
    }
    this.#hungrySinceMs ??= nowMs;
    const forMs = nowMs - this.#hungrySinceMs;
    if (forMs > BACK_OFFS * this.#settings.backoffMaxMs)
      this.#report('7', `${lacking} idle addresses have been lacking for ${forMs} ms, and could be had`);
  }
}

function growsBy(context: EniFactoryContext, count: number, nowMs: number): boolean {
  const { moves } = place(context.waiting, count, Object.values(context.enis), policyOf(context), nowMs);
  return moves.some(({ type }) => type === 'grow' || type === 'open');
}
