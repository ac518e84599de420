/** Who is away when a node's daemon starts again: of a stream of its own, so that the other choices of a seed stay. */
import { type Cloud, CloudError } from '../ports/cloud.ts';
import type { Decision, Deed } from './deed.ts';
import type { Seeded } from './seeded.ts';

type Who = (Deed & { do: 'away' })['who'];

/** States in which a call is about to take something away: whoever dies there must not believe what it remembers. */
const TAKING = ['eni.inUse.unassigning', 'eni.detaching.calling', 'eni.deleting.calling'] as const;

/** @param mishaps of a stream of its own too */
export function withOutages(plan: readonly Decision[], chance: Seeded, mishaps: Seeded): readonly Decision[] {
  let made = 0;
  /** Containers that were asked for, by node. */
  const asked = new Map<number, string[]>();
  /** Some of them go a moment before: their addresses rest over the restart. */
  const leavers = (node: number, beforeMs: number): readonly Decision[] =>
    (asked.get(node) ?? []).slice(-chance.between(0, 4)).map((container) => ({
      ...{ do: 'del', node, container },
      atMs: beforeMs - chance.between(50, 1_500),
    }));
  /** Pods that come while nobody answers, some of which go again. */
  const visitors = (node: number, fromMs: number, forMs: number): readonly Decision[] =>
    Array.from({ length: chance.between(2, 8) }, (): readonly Decision[] => {
      made += 1;
      const container = `n${node}-v${made}`;
      const atMs = fromMs + chance.between(100, Math.min(forMs, 60_000));
      const add = { do: 'add', node, container, withinMs: 2_000, abortMs: null, atMs } as const;
      const goes = chance.chance(0.6);
      return goes ? [add, { do: 'del', node, container, atMs: atMs + chance.between(500, 90_000) }] : [add];
    }).flat();
  const all = plan.flatMap((decision): readonly Decision[] => {
    if (!('node' in decision)) return [decision];
    const { node, atMs } = decision;
    if (decision.do === 'add') asked.set(node, [...(asked.get(node) ?? []), decision.container]);
    const who: Who = chance.pick(['cloud', 'cloud', 'metadata', 'both'] as const);
    const forMs = chance.pick([2_000, 20_000, 120_000, 400_000]);
    const restarts = decision.do === 'crash' || decision.do === 'restart';
    if (restarts && chance.chance(0.5)) {
      const away = { do: 'away', node, who, forMs: decision.downMs + forMs, atMs } as const;
      const more = mishaps.chance(0.5) ? [{ ...mishap(mishaps, node), atMs }] : [];
      return [...leavers(node, atMs), decision, away, ...more, ...visitors(node, atMs + decision.downMs, forMs)];
    }
    if (!chance.chance(0.02)) return [decision];
    const point = chance.pick(['now', 'callSending', 'callCarriedOut', 'storeSynced'] as const);
    const crash = { do: 'crash', node, point, nth: 1, downMs: 50, kept: chance.fraction() } as const;
    const deeds = [crash, { do: 'away', node, who, forMs } as const];
    const ambush = { do: 'ambush', node, state: chance.pick(TAKING), nth: chance.between(1, 2), deeds, atMs } as const;
    return [decision, ambush, ...visitors(node, atMs, forMs)];
  });
  return all
    .map((one, at) => ({ one, at }))
    .sort((a, b) => a.one.atMs - b.one.atMs || a.at - b.at)
    .map(({ one }) => one);
}

/** What goes wrong beside, while a node makes do with what it remembers. */
function mishap(chance: Seeded, node: number): Deed {
  const ambush = (state: string, deeds: readonly Deed[]): Deed => ({ do: 'ambush', node, state, nth: 1, deeds });
  const crowd = (size: number, withinMs: number): readonly Deed[] =>
    Array.from({ length: size }, () => {
      const container = `n${node}-w${chance.between(0, 99_999)}`;
      return { do: 'add', node, container, withinMs, abortMs: null };
    });
  switch (chance.pick(['forgets', 'lost', 'crowd', 'crowd'] as const)) {
    case 'forgets':
      return ambush('node.remembering', [{ do: 'portFault', node, port: 'store', times: 1 }]);
    case 'lost':
      return ambush('node.running.degraded.looking', [{ do: 'away', node, who: 'cloud', forMs: 5_000 }]);
    // More than there is: they wait, while the truth comes in, and others come then.
    case 'crowd': {
      const late = crowd(2, 2_000);
      const [first] = late;
      const gone = first?.do === 'add' ? [{ do: 'del', node, container: first.container } as const] : [];
      const then = ambush('node.running.degraded.quieting', [...late, ...gone]);
      return ambush('node.running.degraded.looking', [...crowd(chance.between(4, 30), 30_000), then]);
    }
  }
}

/** The cloud as a node sees it whose way there may be cut: what is under way is answered, nothing new leaves. */
export function reachable(cloud: Cloud, away: () => boolean): Cloud {
  const barred = <Args extends readonly unknown[], T>(call: (...args: Args) => Promise<T>) => {
    return async (...args: Args): Promise<T> => {
      if (away()) throw new CloudError('cloudUnreachable', 'EHOSTUNREACH, planted by the simulation', '');
      return await call(...args);
    };
  };
  return {
    ...(cloud.keptAs !== undefined && { keptAs: cloud.keptAs }),
    ...(cloud.hurry !== undefined && { hurry: cloud.hurry }),
    ...(cloud.turn !== undefined && { turn: cloud.turn }),
    instanceLimits: barred(cloud.instanceLimits),
    vSwitches: barred(cloud.vSwitches),
    describeEnis: barred(cloud.describeEnis),
    createEni: barred(cloud.createEni),
    attachEni: barred(cloud.attachEni),
    detachEni: barred(cloud.detachEni),
    deleteEni: barred(cloud.deleteEni),
    assignIpv4: barred(cloud.assignIpv4),
    unassignIpv4: barred(cloud.unassignIpv4),
    assignIpv6: barred(cloud.assignIpv6),
    unassignIpv6: barred(cloud.unassignIpv6),
  };
}
