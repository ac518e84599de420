/** Mutants against seeds on as many threads as there are cores: each mutant meets one seed after another until one kills it. */
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';
import type { ScenarioOptions } from '../../src/simulation/scenario.ts';
import { allMutants, fateOf } from './fate.ts';

/** `why` is null for one that lived through all seeds; `seeds` is how many it met. */
export type Fate = { readonly name: string; readonly seeds: number; readonly why: string | null };

type Task = { readonly name: string; readonly seed: number; readonly options: ScenarioOptions };

/** A seed takes a fraction of a second; a mutant that sends itself messages for ever takes all of this. */
const HANG_MS = 20_000;
const MEMORY = { maxYoungGenerationSizeMb: 128, maxOldGenerationSizeMb: 1_024 };

/** To be called by a worker thread: does what it is told until it is ended. */
export function serveMutants(): void {
  const mutants = new Map(allMutants().map((mutant) => [mutant.name, mutant]));
  parentPort?.on('message', async ({ name, seed, options }: Task) => {
    const mutant = mutants.get(name);
    if (mutant === undefined) throw new RangeError(`no mutant is called ${name}`);
    parentPort?.postMessage(await fateOf(mutant, seed, options));
  });
}

export async function hunt(
  names: readonly string[],
  seeds: readonly number[],
  options: ScenarioOptions,
  program: URL,
  onFate: (fate: Fate) => void,
): Promise<void> {
  const left = [...names];
  const drive = async (): Promise<void> => {
    let worker = startWorker(program);
    try {
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        let why: string | null = null;
        let met = 0;
        for (const seed of seeds) {
          met += 1;
          const answer = await ask(worker, { name, seed, options });
          why = answer.why;
          if (!answer.alive) {
            await worker.terminate();
            worker = startWorker(program);
          }
          if (why !== null) break;
        }
        onFate({ name, seeds: met, why });
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), names.length) }, drive));
}

/** Standard output is not the worker's: XState warns there of what mutants do. */
const startWorker = (program: URL): Worker =>
  new Worker(program, { resourceLimits: MEMORY, stdout: true, stderr: true });

/** Never rejects: a thread that hangs or dies of it has been killed by its mutant. */
function ask(worker: Worker, task: Task): Promise<{ readonly why: string | null; readonly alive: boolean }> {
  return new Promise((resolve) => {
    const end = (why: string | null, alive: boolean): void => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      worker.off('error', onError);
      resolve({ why, alive });
    };
    const onMessage = (why: string | null): void => end(why, true);
    const onError = (error: Error): void => end(`the thread died: ${error.message}`, false);
    const timer = setTimeout(() => end(`no end after ${HANG_MS / 1000} s`, false), HANG_MS);
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.postMessage(task);
  });
}
