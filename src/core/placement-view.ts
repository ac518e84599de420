/**
 * Placement told to people: each way in which a pod could come by an address, and what is in that way just now. It reads what `place`
 * reads and decides nothing, so that what is told cannot differ from what was decided but by the moment.
 */
import { type EniSummary, freeOf, isWholeFree, owned, roomOf, spareOf } from './eni-summary.ts';
import { holdEndMs, holdEnds, isFull, opensAtMs } from './holds.ts';
import { timeOfDay } from './instant-text.ts';
import { surplusSlots } from './over-quota.ts';
import type { PlacementPolicy } from './placement.ts';

export type Considered = {
  /** `eni:0 (eni-…)`, `a new ENI`, `vsw-…`. */
  readonly what: string;
  /** serves: it has, or is about to have, an address for a pod; refuses: not now. */
  readonly verdict: 'serves' | 'refuses';
  readonly why: string;
  /** When it may be otherwise by itself; null when only an event can change it. */
  readonly untilMs: number | null;
};

export type PlacementView = {
  readonly considered: readonly Considered[];
  /** What may help without anybody's doing. */
  readonly underWay: readonly string[];
  readonly nextTryMs: number | null;
};

/** @param own for a pod that wants an ENI for itself */
export function considered(
  enis: readonly EniSummary[],
  policy: PlacementPolicy,
  nowMs: number,
  own: boolean = false,
): PlacementView {
  const bySlot = [...enis].sort((a, b) => a.slot - b.slot);
  const surplus = surplusSlots(enis, policy.places ?? Number.POSITIVE_INFINITY);
  const ends = holdEnds(policy.holds, nowMs);
  const looking = policy.looking ? ['a look at the instance and its vSwitches'] : [];
  return {
    considered: [
      ...bySlot.map((eni) => (own ? forItself(eni) : surplus.has(eni.slot) ? goes(eni) : ofEni(eni, policy, nowMs))),
      ofNewEni(enis, policy, nowMs),
      ...policy.vSwitchIds.map((id) => ofVSwitch(id, policy, nowMs)),
    ],
    underWay: [...bySlot.flatMap(underWayOn), ...looking],
    nextTryMs: ends.length === 0 ? null : Math.min(...ends),
  };
}

const nameOf = ({ slot, eniId }: EniSummary): string => (eniId === null ? `eni:${slot}` : `eni:${slot} (${eniId})`);

function ofEni(eni: EniSummary, { holds, readOnly }: PlacementPolicy, nowMs: number): Considered {
  const { counts, phase, limit, vSwitchId, lastFailure } = eni;
  const what = nameOf(eni);
  const refuses = (why: string, untilMs: number | null = null): Considered => ({
    ...{ what, verdict: 'refuses', why },
    untilMs: untilMs !== null && untilMs > nowMs ? untilMs : null,
  });
  const serves = (why: string): Considered => ({ what, verdict: 'serves', why, untilMs: null });
  const failed = lastFailure === null ? '' : `: ${lastFailure.detail}`;
  if (eni.own === true) return refuses('is one pod’s alone');
  if (phase === 'leaving') return refuses('is on its way out, and holds its place until it is gone');
  if (phase === 'lost') return refuses(`is taken over by another actor${failed}`);
  if (phase === 'faulty') return refuses(`has no device${failed}`);
  if (counts.idle > 0 && phase !== 'opening')
    return serves(`has ${several(counts.idle, 'idle address', 'idle addresses')}`);
  const spare = spareOf(eni);
  const opening = phase === 'opening' ? 'is being opened, with' : 'is about to have';
  if (spare > 0) return serves(`${opening} ${several(spare, 'address', 'addresses')} that nobody waits for`);
  if (freeOf(eni) === 0) return refuses(`is full: ${owned(counts)} of ${limit} (${held(eni)})`);
  if (readOnly === true) return refuses(`has room for ${freeOf(eni)}, which read-only mode does not ask for`);
  if (phase === 'holding') return refuses(`backs off after a failed call${failed}`);
  const dryUntilMs = holdEndMs(holds, vSwitchId);
  if (dryUntilMs > nowMs)
    return refuses(
      `has room for ${freeOf(eni)}, but ${vSwitchId} ran dry; asked again at ${timeOfDay(dryUntilMs)}`,
      dryUntilMs,
    );
  const fullUntilMs = holds.enis[eni.slot] ?? 0;
  if (isFull(holds, eni.slot, nowMs))
    return refuses(
      `the cloud says that it has all that it may have; asked again at ${timeOfDay(fullUntilMs)}`,
      fullUntilMs,
    );
  const free = roomOf(eni);
  if (free > 0) return serves(phase === 'opening' ? `is being opened, with room for ${free}` : `has room for ${free}`);
  return refuses(`all that it may have is asked for by ${several(eni.queued, 'request', 'requests')} before`);
}

const goes = (eni: EniSummary): Considered => ({
  ...{ what: nameOf(eni), verdict: 'refuses', untilMs: null },
  why: `is one more than the instance type allows: it goes when it is empty (${held(eni)})`,
});

/** As a whole, for one pod. */
function forItself(eni: EniSummary): Considered {
  const base = { what: nameOf(eni), untilMs: null };
  if (isWholeFree(eni)) return { ...base, verdict: 'serves', why: 'nobody has any of its addresses' };
  const why =
    eni.own === true
      ? 'is one pod’s alone'
      : owned(eni.counts) === 0
        ? `is ${eni.phase}`
        : `has ${held(eni)} (${eni.phase})`;
  return { ...base, verdict: 'refuses', why };
}

function held({ counts }: EniSummary): string {
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  return told.map(([state, count]) => `${count} ${state}`).join(', ');
}

function ofNewEni(enis: readonly EniSummary[], policy: PlacementPolicy, nowMs: number): Considered {
  const { holds, maxEnis, foreignEnis, vSwitchIds, unconfirmed, ipv4PerEni } = policy;
  const what = 'a new ENI';
  const refuses = (why: string, untilMs: number | null = null): Considered => ({
    what,
    verdict: 'refuses',
    why,
    untilMs,
  });
  if (policy.readOnly === true) return refuses('read-only mode: nothing is asked of the cloud');
  if (unconfirmed === true) return refuses('the cloud is away: nothing is changed there until it is heard again');
  const others = foreignEnis === 0 ? '' : `, beside ${foreignEnis} that are not ours to use`;
  if (enis.length >= maxEnis) return refuses(`the node has ${enis.length} of ${maxEnis} ENIs${others}`);
  if (ipv4PerEni < 1) return refuses('ENIs of this type hold no addresses beside those that are needed');
  if (vSwitchIds.length === 0) return refuses('there is no vSwitch that it could be in');
  const failure = holds.lastFailure === null ? '' : `: ${holds.lastFailure.detail}`;
  if (holds.quotaUntilMs > nowMs)
    return refuses(`the instance has all that it may have, by the cloud${failure}`, holds.quotaUntilMs);
  if (holds.openUntilMs > nowMs)
    return refuses(
      `opening the last one failed${failure}; next try at ${timeOfDay(opensAtMs(holds))}`,
      opensAtMs(holds),
    );
  const ends = vSwitchIds.map((id) => holdEndMs(holds, id));
  const firstMs = Math.min(...ends);
  if (firstMs > nowMs)
    return refuses(`every vSwitch ran dry; the first is asked again at ${timeOfDay(firstMs)}`, firstMs);
  return { what, verdict: 'serves', why: `${enis.length} of ${maxEnis} there${others}`, untilMs: null };
}

function ofVSwitch(vSwitchId: string, { holds, vSwitch }: PlacementPolicy, nowMs: number): Considered {
  const untilMs = holdEndMs(holds, vSwitchId);
  const free = vSwitch.free[vSwitchId];
  if (untilMs > nowMs)
    return { what: vSwitchId, verdict: 'refuses', why: `ran dry; asked again at ${timeOfDay(untilMs)}`, untilMs };
  const why =
    free === undefined
      ? 'not looked at lately'
      : `had ${several(free, 'address', 'addresses')} left when last looked at`;
  return { what: vSwitchId, verdict: free === 0 ? 'refuses' : 'serves', why, untilMs: null };
}

function underWayOn(eni: EniSummary): string[] {
  const { phase, arriving, counts } = eni;
  const all: string[] = [];
  if (phase === 'opening') all.push(`${nameOf(eni)} is being opened`);
  else if (arriving > 0) all.push(`${several(arriving, 'address', 'addresses')} asked for on ${nameOf(eni)}`);
  if (counts.offered > 0)
    all.push(`${several(counts.offered, 'address', 'addresses')} of ${nameOf(eni)} promised, not yet written`);
  if (counts.leaving > 0) all.push(`${several(counts.leaving, 'address leaves', 'addresses leave')} ${nameOf(eni)}`);
  if (counts.cooling > 0) all.push(`${several(counts.cooling, 'address rests', 'addresses rest')} on ${nameOf(eni)}`);
  if (phase === 'leaving') all.push(`${nameOf(eni)} is being given back`);
  return all;
}

const several = (count: number, one: string, more: string): string => `${count} ${count === 1 ? one : more}`;
