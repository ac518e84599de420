/**
 * Pods that want an ENI for themselves, in placement: which ENI one can have at once, and what is told to one that cannot have any.
 *
 * Preference: an ENI that has nothing but its own address, and nobody on it; a new one; an idle one of the pool with all that it has, when no place
 * is left for another. An ENI with a pod on it is nobody's to take, so that a node whose places are all in use refuses, and says what uses them.
 */
import { type EniSummary, isWholeFree, owned } from './eni-summary.ts';
import type { Failure } from './errors.ts';
import type { Holds } from './holds.ts';
import { timeOfDay } from './instant-text.ts';
import { allDry, nextTry, notSure } from './placement-failures.ts';

type Wants = { readonly requestId: string; readonly untilMs: number };

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
