/**
 * Pods that want an ENI for themselves, in placement: which ENI one can have at once, and what is told to one that cannot have any.
 *
 * Preference: an ENI that has nothing but its own address, and nobody on it; a new one; an idle one of the pool with all that it has, when no place
 * is left for another. An ENI with a pod on it is nobody's to take, so that a node whose places are all in use refuses, and says what uses them.
 *
 * One that nobody uses any more, and that is not free as a whole yet, is kept for the pod that waits for it: whoever came later and would share it takes another
 * or is refused, since each that began to use it would begin the wait anew.
 */
import { type EniSummary, isWholeFree, owned } from './eni-summary.ts';
import type { Failure } from './errors.ts';
import type { Holds } from './holds.ts';
import { timeOfDay } from './instant-text.ts';
import { allDry, nextTry, notSure } from './placement-failures.ts';

type Wants = { readonly requestId: string; readonly untilMs: number };
type Comes = { readonly pod: string; readonly sinceMs: number };

export type TakenWhole<W extends Wants> = {
  readonly taken: readonly { readonly requestId: string; readonly slot: number }[];
  readonly homeless: readonly W[];
  readonly slots: ReadonlySet<number>;
};

/** Of placement's policy what counts here. */
export type OwnPolicy = {
  readonly maxEnis: number;
  readonly foreignEnis: number;
  readonly looking: boolean;
  readonly unconfirmed?: boolean;
  readonly readOnly?: boolean;
  readonly vSwitchIds: readonly string[];
  readonly holds: Holds;
};

/** Of ENIs that nobody uses, the one that has least to lose first. */
export function takenWhole<W extends Wants>(
  waiting: readonly W[],
  enis: readonly EniSummary[],
  { mayOpen, unconfirmed }: { readonly mayOpen: boolean; readonly unconfirmed: boolean },
): TakenWhole<W> {
  const taken: { requestId: string; slot: number }[] = [];
  const homeless: W[] = [];
  const free = enis
    .filter(isWholeFree)
    .filter(({ counts }) => counts.idle === 1 || !(mayOpen || unconfirmed))
    .sort((a, b) => a.counts.idle - b.counts.idle || a.slot - b.slot);
  const slots = new Set<number>();
  for (const request of waiting) {
    const eni = free.shift();
    if (eni === undefined) homeless.push(request);
    else {
      slots.add(eni.slot);
      taken.push({ requestId: request.requestId, slot: eni.slot });
    }
  }
  return { taken, homeless, slots };
}

/** Slot -> for whom it is kept. */
export type Kept<W extends Comes = Comes> = ReadonlyMap<number, W>;

/**
 * For each that waits the ENI that is nearest to being free as a whole.
 *
 * @param waiting those that neither have an ENI nor can open one, oldest first
 */
export function keptWhole<W extends Comes>(waiting: readonly W[], enis: readonly EniSummary[]): Kept<W> {
  const coming = waiting.length === 0 ? [] : enis.filter(comesWhole);
  coming.sort((a, b) => a.counts.cooling - b.counts.cooling || owned(a.counts) - owned(b.counts) || a.slot - b.slot);
  return new Map(coming.slice(0, waiting.length).flatMap(({ slot }, at) => pairOf(slot, waiting[at])));
}

const pairOf = <W>(slot: number, one: W | undefined): [number, W][] => (one === undefined ? [] : [[slot, one]]);

/** Kept for somebody who has waited longer. */
export function isKeptFrom(kept: Kept, slot: number, { sinceMs }: { readonly sinceMs: number }): boolean {
  const one = kept.get(slot);
  return one !== undefined && one.sinceMs <= sinceMs;
}

/** Nobody uses it, and time alone makes it free as a whole. */
function comesWhole({ phase, own, queued, arriving, ours, counts }: EniSummary): boolean {
  const { idle, cooling, leaving, offered, bound, reserved, invalid } = counts;
  const lives = phase === 'ready' || phase === 'holding';
  // What comes to an ENI that others have made cannot be given back by us.
  return (
    lives &&
    own !== true &&
    queued + offered + bound + reserved + invalid === 0 &&
    (ours || idle + cooling + leaving + arriving === 1)
  );
}

/** Without anybody's doing it may be free for one pod: nobody has an address of it for long, or it leaves and frees its place. */
function mayBecomeFree({ phase, own, counts }: EniSummary): boolean {
  if (phase === 'leaving' || phase === 'lost') return true;
  return own !== true && counts.bound + counts.reserved + counts.invalid === 0;
}

/** A reason to wait, or a refusal, for each. */
export function ownWaits(
  waiting: readonly Wants[],
  enis: readonly EniSummary[],
  policy: OwnPolicy,
  { slots, opensAtMs }: { readonly slots: number; readonly opensAtMs: number },
  nowMs: number,
): {
  readonly refusals: readonly { readonly requestId: string; readonly failure: Failure }[];
  readonly reasons: ReadonlyMap<string, string>;
} {
  const refusals: { requestId: string; failure: Failure }[] = [];
  const reasons = new Map<string, string>();
  const coming = enis.filter(mayBecomeFree);
  for (const { requestId, untilMs } of waiting) {
    const refuse = (failure: Failure): void => void refusals.push({ requestId, failure });
    if (policy.unconfirmed === true) refuse(notSure);
    else if (opensAtMs <= untilMs || policy.looking || coming.length > 0)
      reasons.set(requestId, whyItWaits(slots, opensAtMs, coming, policy, nowMs));
    else if (opensAtMs === Number.POSITIVE_INFINITY) refuse(noneFree(enis, policy));
    else refuse(nextTry(policy.holds.lastFailure ?? allDry(policy.vSwitchIds), opensAtMs));
  }
  return { refusals, reasons };
}

function whyItWaits(
  slots: number,
  opensAtMs: number,
  coming: readonly EniSummary[],
  { holds }: OwnPolicy,
  nowMs: number,
): string {
  const failure = holds.lastFailure === null ? '' : `: ${holds.lastFailure.detail}`;
  if (slots > 0 && opensAtMs > nowMs && Number.isFinite(opensAtMs))
    return `an ENI of its own can be opened at ${timeOfDay(opensAtMs)}${failure}`;
  const [first] = coming;
  if (first === undefined) return 'it wants an ENI of its own, and the instance is being looked at';
  const name = first.eniId ?? `eni:${first.slot}`;
  if (first.phase === 'leaving') return `it wants an ENI of its own: ${name} is on its way out and holds its place`;
  return `it wants an ENI of its own: ${name} has no pod, and is not free as a whole yet`;
}

/** What uses the places. */
function noneFree(enis: readonly EniSummary[], { maxEnis, foreignEnis, readOnly }: OwnPolicy): Failure {
  if (readOnly === true)
    return { code: 'readOnly', detail: 'read-only mode: no ENI is free as a whole, and none is opened' };
  const own = enis.filter((eni) => eni.own === true).length;
  const shared = enis.length - own;
  const held = enis.reduce((sum, eni) => sum + (eni.own === true ? 0 : owned(eni.counts) - eni.counts.idle), 0);
  const parts = [
    ...(own > 0 ? [`${own} ${own === 1 ? 'has' : 'have'} one pod each`] : []),
    ...(shared > 0 ? [`${shared} ${shared === 1 ? 'is' : 'are'} shared, with ${held} addresses in use`] : []),
    ...(foreignEnis > 0 ? [`${foreignEnis} more here are not ours to use`] : []),
  ];
  const detail = `no ENI can be had for this pod alone: the node has ${enis.length} of ${maxEnis}`;
  return { code: 'noCapacity', detail: parts.length === 0 ? detail : `${detail}; ${parts.join('; ')}` };
}
