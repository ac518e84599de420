/**
 * A pod that waits for an ENI of its own has its turn: what nobody used any more while it waited, and could wait for nothing else, who came
 * later has not begun to share. It looks at two moments, since of one alone nobody can tell who was there before. Invariant 4.
 */
import type { SnapshotFrom } from 'xstate';
import type { eniFactoryMachine } from '../../statecharts/eni-factory.ts';
import { eniId, policyOf } from '../../statecharts/eni-factory-context.ts';
import type { EniSummary } from '../core/eni-summary.ts';

type Factory = SnapshotFrom<typeof eniFactoryMachine>;

export function isUnused({ queued, counts }: EniSummary): boolean {
  const { offered, bound, reserved, invalid } = counts;
  return queued + offered + bound + reserved + invalid === 0;
}

/** ENI -> the request that had nothing else to wait for when it was looked at last. */
const longedFor = new WeakMap<object, string>();

/** Who came later has not begun to share the only ENI that a pod which wants one for itself could wait for. */
export function checkTurns({ context, children }: Factory, fault: (invariant: string, what: string) => void): void {
  const { enis, waiting, placed } = context;
  const all = Object.values(enis);
  const longing = waiting.filter((request) => request.ownEni === true);
  const policy = policyOf(context);
  const unused = all.filter((eni) => eni.phase === 'ready' && eni.own !== true && eni.ours && isUnused(eni));
  const noOther = all.length >= policy.maxEnis && policy.unconfirmed !== true && unused.length <= longing.length;
  for (const { slot } of all) {
    const ref = children[eniId(slot)];
    if (ref === undefined) continue;
    const before = longing.find(({ requestId }) => requestId === longedFor.get(ref));
    const here = [...placed.values()].filter((one) => one.slot === slot && one.request.ownEni !== true);
    const [later] = here;
    // Where somebody older began, or a place has come free meanwhile, others may follow.
    const isTurned = before !== undefined && here.every(({ request }) => request.sinceMs > before.sinceMs);
    if (isTurned && later !== undefined && all.length >= policy.maxEnis)
      fault('4', `${before.pod} waits for eni:${slot}, and ${later.request.pod}, which came later, was sent there`);
    const [first] = longing;
    if (noOther && first !== undefined && unused.some((eni) => eni.slot === slot)) longedFor.set(ref, first.requestId);
    else longedFor.delete(ref);
  }
}
