/**
 * Calls whose answer is lost and whose effect comes seconds later, while pods come that may be given what the call takes: with the
 * daemon alive and refused when it asks again, and with the daemon dead and started anew meanwhile. Of a stream of its own, so that the
 * other choices of a seed stay.
 */
import type { ApiName } from '../vpc/requests.ts';
import type { Decision, Deed, PlanKinds } from './deed.ts';
import type { LateCalls } from './late-plan.ts';
import type { Seeded } from './seeded.ts';

/** What takes away comes most often: that is what hurts a pod. */
const APIS = [
  'UnassignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
  'AssignPrivateIpAddresses',
  'AssignPrivateIpAddresses',
  'CreateNetworkInterface',
  'AttachNetworkInterface',
  'DetachNetworkInterface',
  'DeleteNetworkInterface',
] as const satisfies readonly ApiName[];
const DUAL_APIS = [...APIS, 'UnassignIpv6Addresses', 'UnassignIpv6Addresses', 'AssignIpv6Addresses'] as const;
const REFUSALS = ['Throttling.User', 'Throttling.User', 'Operation.Conflict', 'InternalError'] as const;

/** @param badWay the way to the cloud is bad all the time */
export function withLateCalls(
  plan: readonly Decision[],
  chance: Seeded,
  kinds: PlanKinds,
  badWay: boolean,
): readonly Decision[] {
  const often = badWay ? 0.12 : 0.01;
  let made = 0;
  let leaving: { readonly afterDecisions: number; readonly deeds: readonly Deed[] } | null = null;
  return plan.flatMap((decision, index): readonly Decision[] => {
    const { atMs } = decision;
    const due = leaving !== null && leaving.afterDecisions <= index ? leaving.deeds : [];
    if (due.length > 0) leaving = null;
    const deeds: Deed[] = [...due];
    if ('node' in decision && chance.chance(often)) {
      const { node } = decision;
      made += 1;
      const late = lateCalls(chance, node, made, kinds);
      deeds.push(late);
      // Nothing is given back but by a node that has more than it needs.
      if (late.calls.api.startsWith('Unassign') && leaving === null) {
        const pods = names(`tide${made}-${node}`, chance.between(3, 10));
        deeds.push(...pods.map((container): Deed => ({ do: 'add', node, container, withinMs: 30_000, abortMs: null })));
        const afterDecisions = index + chance.between(4, 12);
        leaving = { afterDecisions, deeds: pods.map((container): Deed => ({ do: 'del', node, container })) };
      }
    }
    return [decision, ...deeds.map((deed): Decision => ({ ...deed, atMs }))];
  });
}

const names = (of: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${of}-${index}`);

function lateCalls(
  chance: Seeded,
  node: number,
  number: number,
  { dual, crashes }: PlanKinds,
): Deed & { do: 'lateCalls' } {
  const api = chance.pick(dual ? DUAL_APIS : APIS);
  const how = chance.pick(['close', 'close', 'close', 'close', 'hang'] as const);
  const lateMs = how === 'close' ? chance.pick([300, 2_000, 6_000, 15_000, 15_000]) : chance.pick([22_000, 30_000]);
  const calls: LateCalls = { api, times: chance.pick([1, 1, 2]), how, lateMs };
  const pods = names(`late${number}-${node}`, chance.between(3, 10));
  const come = pods.map(
    (container): Deed => ({ do: 'add', node, container, withinMs: chance.pick([2_000, 30_000]), abortMs: null }),
  );
  const goMs = chance.between(20_000, 90_000);
  const go = pods.map((container) => ({ afterMs: goMs, deed: { do: 'del', node, container } as const }));
  // Addresses are given back seldom: that may be long in coming.
  const forMs = chance.pick([60_000, 600_000]);
  if (crashes && chance.chance(0.5)) {
    const crash: Deed = {
      do: 'crash',
      node,
      point: 'now',
      nth: 1,
      downMs: chance.pick([1, 50, 500, 2_000]),
      kept: chance.fraction(),
    };
    const started: Deed = { do: 'ambush', node, state: 'node.running.serving', nth: 1, deeds: come };
    const afterMs = chance.pick([0, 150, 300, 450, 1_500]);
    return {
      ...{ do: 'lateCalls', node, calls, forMs },
      next: [{ afterMs, deed: crash }, { afterMs, deed: started }, ...go],
    };
  }
  const refusal: Deed = {
    do: 'callFault',
    fault: {
      ...{ api, times: chance.pick([1, 2, 4]), params: {} },
      ...{ effect: 'fail', code: chance.pick(REFUSALS), status: null, message: null },
    },
    forMs: chance.pick([5_000, 30_000]),
  };
  const afterMs = chance.pick([0, 400, 2_500, 4_000]);
  return {
    ...{ do: 'lateCalls', node, calls, forMs },
    next: [
      ...(chance.chance(0.7) ? [{ afterMs: 0, deed: refusal }] : []),
      ...come.map((deed) => ({ afterMs, deed })),
      ...go,
    ],
  };
}
