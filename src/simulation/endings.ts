/** How a daemon, or one of its actors, ends. */
import type { CrashPoint, Deed } from './deed.ts';
import type { Seeded } from './seeded.ts';

const CRASH_POINTS = [
  'now',
  'callSending',
  'callCarriedOut',
  'storeWriting',
  'storePending',
  'storeSynced',
] as const satisfies readonly CrashPoint[];

export function crash(chance: Seeded, node: number): Deed & { do: 'crash' } {
  const point = chance.pick(CRASH_POINTS);
  const downMs = chance.pick([1, 50, 1_000, 5_000, 60_000]);
  return { do: 'crash', node, point, nth: chance.between(1, 4), downMs, kept: chance.fraction() };
}

export function restart(chance: Seeded, node: number): Deed & { do: 'restart' } {
  const againMs = chance.chance(0.5) ? chance.between(0, 400) : null;
  return { do: 'restart', node, drainMs: chance.pick([0, 2_000]), downMs: chance.pick([1, 500, 20_000]), againMs };
}

export function defect(chance: Seeded, node: number): Deed {
  const of = chance.pick(['eni', 'eni', 'supervisor', 'lease'] as const);
  return { do: 'defect', node, of, which: chance.between(0, 999), forMs: chance.pick([10, 5_000, 60_000]) };
}
