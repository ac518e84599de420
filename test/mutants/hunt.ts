/** Mutants against seeds on as many threads as there are cores: each mutant meets one seed after another until one kills it. */
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';
import type { ScenarioOptions } from '../../src/simulation/scenario.ts';
import { allMutants, fateOf } from './fate.ts';

/** `why` is null for one that lived through all seeds; `seeds` is how many it met. */
export type Fate = { readonly name: string; readonly seeds: number; readonly why: string | null };

/** `name` is null for the charts as they are. */
type Task = { readonly name: string | null; readonly seed: number; readonly options: ScenarioOptions };

/** A seed takes a fraction of a second; a mutant that sends itself messages for ever takes all of this. */
const HANG_MS = 20_000;
const MEMORY = { maxYoungGenerationSizeMb: 128, maxOldGenerationSizeMb: 1_024 };

/** To be called by a worker thread: does what it is told until it is ended. */
export function serveMutants(): void {
  const mutants = new Map(allMutants().map((mutant) => [mutant.name, mutant]));
  parentPort?.on('message', async ({ name, seed, options }: Task) => {
    const mutant = name === null ? null : mutants.get(name);
    if (mutant === undefined) throw new RangeError(`no mutant is called ${name}`);
    parentPort?.postMessage(await fateOf(mutant, seed, options));
  });
}

/**
 * `onUnsound` hears of seeds that the charts as they are do not live through: they would kill any mutant, so none meets them.
 */
export async function hunt(
  names: readonly string[],
  wanted: readonly number[],
  options: ScenarioOptions,
  program: URL,
  onFate: (fate: Fate) => void,
  onUnsound: (seed: number, why: string) => void,
): Promise<void> {
  const unsound = new Map<number, string | null>();
  const trying = [...wanted];
  await onEachCore(wanted.length, program, async (askWorker) => {
    for (let seed = trying.shift(); seed !== undefined; seed = trying.shift())
      unsound.set(seed, await askWorker({ name: null, seed, options }));
  });
  const seeds = wanted.filter((seed) => unsound.get(seed) === null);
  for (const [seed, why] of unsound) if (why !== null) onUnsound(seed, why);
  const left = [...names];
  await onEachCore(names.length, program, async (askWorker) => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      let why: string | null = null;
      let met = 0;
      for (const seed of seeds) {
        met += 1;
        why = await askWorker({ name, seed, options });
        if (why !== null) break;
      }
      onFate({ name, seeds: met, why });
    }
  });
}

/** Runs `drive` on each of up to `most` threads; a thread that a task has ended is made anew. */
async function onEachCore(
  most: number,
  program: URL,
  drive: (askWorker: (task: Task) => Promise<string | null>) => Promise<void>,
): Promise<void> {
  const run = async (): Promise<void> => {
    let worker = startWorker(program);
    try {
      await drive(async (task) => {
        const { why, alive } = await ask(worker, task);
        if (alive) return why;
        await worker.terminate();
        worker = startWorker(program);
        return why;
      });
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), most) }, run));
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
