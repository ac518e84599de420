/**
 * What is beyond what the instance type allows: of an instance that got a smaller type. Pure.
 *
 * The cloud refuses most such changes while ENIs are attached, but it is the cloud's word alone that says so, and a type's quota may shrink without
 * one. ENIs that are too many get no new pods and go when they are empty, those with the fewest pods first; an ENI with too many addresses gives back idle
 * ones. No pod is disturbed, and what configuration allows is another matter: a lower cap only opens no more.
 */
import { type EniSummary, owned } from './eni-summary.ts';
import { isUnused } from './shed-plan.ts';

const held = ({ counts, queued }: EniSummary): number => counts.offered + counts.bound + counts.reserved + queued;

/** Those of a daemon that has just started are there and not set up yet: none of the others stays in the place of one that is. */
const takesPlace = ({ phase, eniId }: EniSummary): boolean =>
  phase === 'ready' || phase === 'holding' || (phase === 'opening' && eniId !== null);

/** Slots of ENIs that are too many; only ours, since others may not be given back, and one that somebody puts here, or takes away, makes none of ours too many. */
export function surplusSlots(enis: readonly EniSummary[], places: number): ReadonlySet<number> {
  const attached = enis.filter((eni) => eni.ours && takesPlace(eni));
  const tooMany = Math.max(0, attached.length - Math.max(0, places));
  const first = [...attached].sort((a, b) => held(a) - held(b) || b.slot - a.slot);
  return new Set(first.slice(0, tooMany).map(({ slot }) => slot));
}

/** By slot: idle addresses that can be given back now because they are too many. */
export function overQuota(enis: readonly EniSummary[], places: number): ReadonlyMap<number, number> {
  const surplus = surplusSlots(enis, places);
  const over = enis.flatMap((eni): [number, number][] => {
    const { slot, ours, phase, own, counts, sheddable, limit } = eni;
    if (!ours || phase !== 'ready' || own === true) return [];
    const many = surplus.has(slot) ? counts.idle : Math.min(sheddable, owned(counts) - counts.leaving - limit);
    const count = isUnused(eni) ? many : Math.min(many, sheddable);
    return count > 0 ? [[slot, count]] : [];
  });
  return new Map(over);
}
