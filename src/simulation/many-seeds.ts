/** Many seeds on as many threads as there are cores, each thread taking the next seed when it has done one. */
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';
import { type Outcome, runSeed } from './run-seed.ts';
import type { ScenarioOptions } from './scenario.ts';

/** What one seed came to, in what can be sent between threads. */
export type SeedResult = Omit<Outcome, 'states' | 'transitions'> & {
  /** Those that this thread had not been through before. */
  readonly newStates: readonly string[];
  readonly newTransitions: readonly string[];
};

/** Actors make much garbage that dies young: room for it saves a sixth of the time. */
const YOUNG_MB = 192;

type Task = { readonly seed: number; readonly options: ScenarioOptions };

/** To be called by a worker thread: does what it is told until it is ended. */
export function serveSeeds(): void {
  // Faults are made by the thousand, and nobody reads where; a seed that fails is run again by itself.
  Error.stackTraceLimit = 0;
  const seen = { states: new Set<string>(), transitions: new Set<string>() };
  parentPort?.on('message', async ({ seed, options }: Task) => {
    const { states, transitions, ...rest } = await runSeed(seed, options);
    const fresh = (all: ReadonlySet<string>, known: Set<string>): string[] => {
      const found = [...all].filter((name) => !known.has(name));
      for (const name of found) known.add(name);
      return found;
    };
    const newStates = fresh(states, seen.states);
    parentPort?.postMessage({ ...rest, newStates, newTransitions: fresh(transitions, seen.transitions) });
  });
}

/** Resolves when all are done; `onResult` hears of each in the order of their ends. `program` is a file that calls `serveSeeds`. */
export async function runSeeds(
  seeds: readonly number[],
  options: ScenarioOptions,
  program: URL,
  onResult: (result: SeedResult) => void,
): Promise<void> {
  const left = [...seeds];
  const workers = Array.from(
    { length: Math.min(availableParallelism(), seeds.length) },
    () => new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } }),
  );
  const drive = (worker: Worker): Promise<void> =>
    new Promise((resolve, reject) => {
      const next = (): void => {
        const seed = left.shift();
        if (seed === undefined) resolve();
        else worker.postMessage({ seed, options } satisfies Task);
      };
      worker.on('message', (result: SeedResult) => {
        onResult(result);
        next();
      });
      worker.on('error', reject);
      next();
    });
  try {
    await Promise.all(workers.map(drive));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
