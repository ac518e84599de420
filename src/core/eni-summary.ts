/**
 * What an ENI tells the factory about itself, and what follows from it: all that placement and the idle pool ever see of an ENI.
 */
import type { Counts } from './address-book.ts';
import type { Failure } from './errors.ts';

/**
 * opening: not attached and set up yet · ready · holding (a call failed, backing off; idle addresses are still served) · faulty
 * (attached, but its device cannot be set up: serves nobody until it can) · leaving (draining or later) · lost (its actor died, another one is about to take it over).
 */
export type EniPhase = 'opening' | 'ready' | 'holding' | 'faulty' | 'leaving' | 'lost';

export type EniSummary = {
  readonly slot: number;
  readonly phase: EniPhase;
  readonly eniId: string | null;
  readonly vSwitchId: string;
  /** Made by us: only such ENIs, and addresses on them, are ever given back. */
  readonly ours: boolean;
  /** Addresses the ENI may own. */
  readonly limit: number;
  readonly counts: Counts;
  /** Idle addresses that can be given back alone: all but the ENI's own primary one. */
  readonly sheddable: number;
  /** Addresses asked for, or to be asked for in the next call, and not here yet. */
  readonly arriving: number;
  /** Its Create waits for its turn: as nothing of it is made yet, it can be called off. Absent: it cannot. */
  readonly unasked?: true;
  /** A pod has it, or waits for it, for itself: it serves nobody else (own-eni.ts). Absent: it does. */
  readonly own?: true;
  /** Requests that wait for them; not those that wait for an address that is kept for them. */
  readonly queued: number;
  /** Pods that addresses are kept for, the reservation that ends first at the front. */
  readonly reserved?: readonly { readonly pod: string; readonly untilMs: number }[];
  /** Messages of the factory that this takes account of. */
  readonly heard: number;
  readonly lastFailure: Failure | null;
};

export function owned({ idle, offered, bound, cooling, reserved, leaving, invalid }: Counts): number {
  return idle + offered + bound + cooling + reserved + leaving + invalid;
}

/** Addresses the ENI could own beyond those it has. */
export function freeOf(eni: EniSummary): number {
  return eni.own === true ? 0 : Math.max(0, eni.limit - owned(eni.counts));
}

/** Addresses that could still be asked for on this ENI, beyond those asked for and those its queue will ask for. */
export function roomOf(eni: EniSummary): number {
  if ((eni.phase !== 'ready' && eni.phase !== 'opening') || eni.own === true) return 0;
  const unmet = Math.max(0, eni.queued - coming(eni));
  return Math.max(0, freeOf(eni) - eni.arriving - unmet);
}

/** Addresses that the queue of the ENI can count on; those of an ENI that is being opened wait for it as much as the requests do. */
function coming(eni: EniSummary): number {
  return eni.arriving + (eni.phase === 'opening' ? eni.counts.idle : 0);
}

/** Addresses under way that no request waits for. */
export function spareOf(eni: EniSummary): number {
  if (eni.own === true) return 0;
  return eni.phase === 'ready' || eni.phase === 'opening' ? Math.max(0, coming(eni) - eni.queued) : 0;
}

/** It waits in line to be made, and for nobody. */
export function isForNobody({ unasked, phase, queued, arriving }: EniSummary): boolean {
  return unasked === true && phase === 'opening' && queued === 0 && arriving > 0;
}

/** It has an address that can be had at once. */
export function givesNow({ phase, counts, own }: EniSummary): boolean {
  return (phase === 'ready' || phase === 'holding') && counts.idle > 0 && own !== true;
}

/** Nobody has, waits for, or may come back to any of its addresses, and none rests: a pod can have the ENI for itself at once. */
export function isWholeFree({ phase, counts, own, queued, arriving, ours, sheddable }: EniSummary): boolean {
  const { idle } = counts;
  const quiet = phase === 'ready' && own !== true && queued + arriving === 0;
  // Its primary address is among the idle ones; and what others have assigned cannot be given back by us.
  return quiet && idle === owned(counts) && idle - sheddable === 1 && (ours || idle === 1);
}

/** What the factory tells an ENI that changes how it is placed. */
export type Told =
  | {
      readonly type: 'assign';
      readonly pod?: string;
      readonly alsoCooling: boolean;
      readonly alsoReserved?: boolean;
      readonly ownEni?: true;
    }
  | { readonly type: 'grow'; readonly count: number }
  | { readonly type: 'shed'; readonly count: number }
  | { readonly type: 'drain' };

/** The summary once the ENI has heard what is on its way to it. Any report that has heard less is older. */
export function expecting(eni: EniSummary, told: Told): EniSummary {
  return { ...eni, ...changeBy(eni, told), heard: eni.heard + 1 };
}

function changeBy(eni: EniSummary, told: Told): Partial<EniSummary> {
  const { counts, phase } = eni;
  const { idle, cooling, offered } = counts;
  if (told.type === 'drain') return { phase: 'leaving' };
  if (told.type === 'grow') return { arriving: eni.arriving + told.count };
  if (told.type === 'shed') {
    const count = Math.min(told.count, eni.sheddable);
    const after = { ...counts, idle: idle - count, leaving: counts.leaving + count };
    return { counts: after, sheddable: eni.sheddable - count };
  }
  const serves = phase === 'ready' || phase === 'holding';
  if (told.ownEni === true) {
    if (!isWholeFree(eni)) return { own: true, queued: eni.queued + 1 };
    const after = { ...counts, idle: idle - 1 - eni.sheddable, offered: offered + 1 };
    return { own: true, counts: { ...after, leaving: counts.leaving + eni.sheddable }, sheddable: 0 };
  }
  const { reserved = [] } = eni;
  const own = reserved.find(({ pod }) => pod === told.pod);
  const taking = (which: (typeof reserved)[number]) => ({
    counts: { ...counts, reserved: counts.reserved - 1, offered: offered + 1 },
    reserved: reserved.filter((one) => one !== which),
  });
  if (own !== undefined) return serves ? taking(own) : {};
  if (serves && idle > 0)
    return {
      counts: { ...counts, idle: idle - 1, offered: offered + 1 },
      sheddable: Math.min(eni.sheddable, idle - 1),
    };
  if (serves && told.alsoCooling && cooling > 0)
    return { counts: { ...counts, cooling: cooling - 1, offered: offered + 1 } };
  const [first] = reserved;
  if (serves && told.alsoReserved && first !== undefined) return taking(first);
  return { queued: eni.queued + 1 };
}
