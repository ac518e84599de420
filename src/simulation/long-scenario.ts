/**
 * A world of days: pods come and go by the hour, and all that lives for hours ends and is renewed again and again. What seeds do within
 * minutes happens here too, only seldom; beside it what takes long: endpoints that are away longer than a key lives, vSwitches that are dry
 * for hours, and sandboxes whose DEL comes the next morning.
 */

import type { Decision, Deed, Fate } from './deed.ts';
import type { Lifetimes } from './lifetimes.ts';
import { MET } from './moments.ts';
import { type Scenario, scenarioOf } from './scenario.ts';
import { Seeded } from './seeded.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** More than any plan of a month has. */
const DECISIONS_MAX = 100_000;
const LOOKS_A_DAY = 4;

export function longScenario(seed: number, days: number): Scenario {
  const chance = new Seeded(seed, 'days');
  const lifetimes: Lifetimes = {
    keyMs: chance.pick([HOUR_MS, 6 * HOUR_MS]),
    accountTokenMs: HOUR_MS,
  };
  const scenario = scenarioOf(seed, {
    steps: DECISIONS_MAX,
    lastsMs: days * DAY_MS,
    gapMs: hoursMs,
    lifetimes,
    // What others change out of band makes much of what is said of the world uncertain, and is for the seeds of minutes.
    outOfBand: false,
    settings: {
      ...{ poolPeriodMs: 2 * MINUTE_MS, gcPeriodMs: 5 * MINUTE_MS, gcGraceMs: 5 * MINUTE_MS, gcTimeoutMs: MINUTE_MS },
      ...{ coolDownMs: 30_000, holdDownMs: 10 * MINUTE_MS, reserveMs: 5 * MINUTE_MS },
      // As often as by default they would be most of all that happens.
      ...{ cloudPeriodMs: 10 * MINUTE_MS, kernelPeriodMs: 5 * MINUTE_MS },
      reclaim: { afterMs: HOUR_MS, intervalMs: 10 * MINUTE_MS, batchSize: 5, jitterFactor: 0.1 },
      inputsMax: chance.pick([0, 256]),
    },
  });
  const nodes = scenario.topology.instances.length;
  const endMs = scenario.startMs + days * DAY_MS;
  const looks = Array.from({ length: LOOKS_A_DAY * days }, (_, at): Decision => {
    return { do: 'look', atMs: scenario.startMs + ((at + 1) * DAY_MS) / LOOKS_A_DAY };
  });
  const plan = [
    ...scenario.plan,
    ...lateDels(scenario.plan, chance).map((one) => ({ ...one, atMs: Math.min(one.atMs, endMs) })),
    ...endings(scenario.startMs, days, nodes, chance),
    ...looks,
  ];
  return { ...scenario, steps: Number.POSITIVE_INFINITY, stepsMin: 0, plan: plan.toSorted((a, b) => a.atMs - b.atMs) };
}

/** Some at once, most within the hour, a few after a night. */
function hoursMs(chance: Seeded): number {
  const kind = chance.fraction();
  if (kind < 0.25) return chance.between(0, 3_000);
  if (kind < 0.6) return chance.between(10_000, 10 * MINUTE_MS);
  if (kind < 0.9) return chance.between(10 * MINUTE_MS, HOUR_MS);
  return chance.between(HOUR_MS, 4 * HOUR_MS);
}

/**
 * No pod is for ever: one that nobody deletes, and one that keeps its address because one witness is left, is deleted within a day; what
 * comes in an ambush, whenever that may be, some days later too.
 */
function lateDels(plan: readonly Decision[], chance: Seeded): readonly Decision[] {
  const left = new Map<string, Deed & { do: 'del' } & { readonly atMs: number }>();
  const made: Decision[] = [];
  const later = (): number => chance.between(HOUR_MS, DAY_MS);
  for (const decision of plan) {
    if (decision.do === 'add' || decision.do === 'del' || decision.do === 'fate') {
      const { node, container, atMs } = decision;
      const stays = decision.do === 'add' || (decision.do === 'fate' && KEEPING.includes(decision.fate));
      if (stays) left.set(container, { do: 'del', node, container, atMs: atMs + later() });
      else left.delete(container);
    }
    for (const { node, container } of addsIn(decision))
      for (const days of [0, 1, 4])
        made.push({ do: 'del', node, container, atMs: decision.atMs + days * DAY_MS + later() });
  }
  return [...made, ...left.values()];
}

const KEEPING: readonly Fate[] = ['lingers', 'sandboxLost'];

/** Those within a deed that waits for its moment. */
function addsIn(deed: Deed): readonly (Deed & { do: 'add' })[] {
  const inside = deed.do === 'ambush' ? deed.deeds : deed.do === 'lateCalls' ? deed.next.map((next) => next.deed) : [];
  return inside.flatMap((one) => (one.do !== 'add' ? addsIn(one) : one.container === MET ? [] : [one]));
}

function endings(startMs: number, days: number, nodes: number, chance: Seeded): readonly Decision[] {
  const made: Decision[] = [];
  const endMs = startMs + days * DAY_MS;
  for (let atMs = startMs + HOUR_MS; ; ) {
    atMs += chance.between(2 * HOUR_MS, 10 * HOUR_MS);
    if (atMs >= endMs) return made;
    made.push({ ...ending(chance, chance.between(0, nodes - 1)), atMs });
  }
}

function ending(chance: Seeded, node: number): Deed {
  switch (
    chance.pick(['metadata', 'cloud', 'both', 'dry', 'key', 'metadataToken', 'accountToken', 'kubelet'] as const)
  ) {
    case 'metadata':
      return { do: 'away', node, who: 'metadata', forMs: chance.pick([5 * MINUTE_MS, HOUR_MS, 9 * HOUR_MS]) };
    case 'cloud':
      return { do: 'away', node, who: 'cloud', forMs: chance.pick([5 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS]) };
    case 'both':
      return { do: 'away', node, who: 'both', forMs: chance.pick([5 * MINUTE_MS, 2 * HOUR_MS]) };
    case 'dry':
      return { do: 'drySwitch', vSwitch: chance.between(0, 1), forMs: chance.between(HOUR_MS, 6 * HOUR_MS) };
    case 'key':
      return { do: 'takeBack', node, kind: 'key' };
    case 'metadataToken':
      return { do: 'takeBack', node, kind: 'metadataToken' };
    case 'accountToken':
      return { do: 'takeBack', node, kind: 'accountToken' };
    case 'kubelet':
      return { do: 'kubeletSleeps', node, forMs: chance.between(HOUR_MS / 2, 3 * HOUR_MS) };
  }
}
