/** A run of the simulation, to be looked at life by life of its nodes: what `npm run simulate -- --seed S` runs. */
import { charts } from '../../actors/chart-data.ts';
import { runSeed } from '../simulation/run-seed.ts';
import { lasting } from '../simulation/scenario.ts';
import type { Source } from './source.ts';
import { Tape } from './tape.ts';
import { type NamedTape, tapedSource } from './taped-source.ts';

/** `steps`: as of `npm run simulate`; a seed with other steps is another run. */
export async function simulationSource(seed: number, steps: number): Promise<Source> {
  const tapes = new Map<string, NamedTape>();
  const { violation } = await runSeed(seed, lasting(steps), {
    onHeard: ({ node, life, event, atMs }) => {
      const name = `node ${node + 1}, life ${life}`;
      const known = tapes.get(name) ?? { name, tape: new Tape(atMs) };
      tapes.set(name, known);
      known.tape.heard(event, atMs);
    },
  });
  const end = violation === null ? 'no violation' : `VIOLATION of ${violation.invariant}: ${violation.what}`;
  return tapedSource('simulation', `seed ${seed}: ${end}`, [...tapes.values()], charts());
}
