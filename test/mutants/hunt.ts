/** Mutants against seeds on as many threads as there are cores: each mutant meets one seed after another until one kills it. */
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';
import type { ScenarioOptions } from '../../src/simulation/scenario.ts';
import { allMutants, fateOf, type Walk, walkOf } from './fate.ts';
import type { Mutant } from './mutants-of.ts';

/**
 * `why` is null for one that lived through all seeds. `seeds`: how many it was tried against, less those that come nowhere near it and
 * need not be run; `by` is the one that killed it.
 */
export type Fate = {
  readonly name: string;
  readonly seeds: number;
  readonly by: number | null;
  readonly why: string | null;
};

/** `name` is null for the charts as they are. */
type Task = { readonly name: string | null; readonly seed: number; readonly options: ScenarioOptions };

/** A seed takes a fraction of a second, or a few on a machine that is busy; a mutant that sends itself messages for ever takes all of this. */
const HANG_MS = 60_000;
const MEMORY = { maxYoungGenerationSizeMb: 128, maxOldGenerationSizeMb: 1_024 };

/** To be called by a worker thread: does what it is told until it is ended. */
export function serveMutants(): void {
  const mutants = new Map(allMutants().map((mutant) => [mutant.name, mutant]));
  // Mutants fail by the thousand, and nobody reads where.
  Error.stackTraceLimit = 0;
  parentPort?.on('message', async ({ name, seed, options }: Task) => {
    if (name === null) {
      parentPort?.postMessage(await walkOf(seed, options));
      return;
    }
    const mutant = mutants.get(name);
    if (mutant === undefined) throw new RangeError(`no mutant is called ${name}`);
    parentPort?.postMessage({ why: await fateOf(mutant, seed, options), met: {} } satisfies Walk);
  });
}

/** Of each seed what it is without any mutant. */
export async function walkAll(
  seeds: readonly number[],
  options: ScenarioOptions,
  program: URL,
): Promise<ReadonlyMap<number, Walk>> {
  const walks = new Map<number, Walk>();
  const left = [...seeds];
  await onEachCore(seeds.length, program, async (askWorker) => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift())
      walks.set(seed, await askWorker({ name: null, seed, options }));
  });
  return walks;
}

/**
 * Each mutant meets the seeds that come to its cut, those first that do so most often. Seeds that the charts as they are do not live
 * through would kill any mutant, so none meets them.
 */
export async function hunt(
  mutants: readonly Mutant[],
  walks: ReadonlyMap<number, Walk>,
  options: ScenarioOptions,
  program: URL,
  onFate: (fate: Fate) => void,
): Promise<void> {
  const sound = [...walks].filter(([, { why }]) => why === null);
  const left = [...mutants];
  await onEachCore(mutants.length, program, async (askWorker) => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const { name } = mutant;
      const near = sound
        .map(([seed, { met }]) => ({ seed, times: met[name] ?? 0 }))
        .filter(({ times }) => times > 0)
        .sort((a, b) => b.times - a.times || a.seed - b.seed);
      let fate: Fate = { name, seeds: near.length, by: null, why: null };
      for (const [index, { seed }] of near.entries()) {
        const { why } = await askWorker({ name, seed, options });
        if (why === null) continue;
        fate = { name, seeds: index + 1, by: seed, why };
        break;
      }
      onFate(fate);
    }
  });
}

/** Runs `drive` on each of up to `most` threads; a thread that a task has ended is made anew. */
async function onEachCore(
  most: number,
  program: URL,
  drive: (askWorker: (task: Task) => Promise<Walk>) => Promise<void>,
): Promise<void> {
  const run = async (): Promise<void> => {
    let worker = startWorker(program);
    try {
      await drive(async (task) => {
        const { walk, alive } = await ask(worker, task);
        if (alive) return walk;
        await worker.terminate();
        worker = startWorker(program);
        return walk;
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
function ask(worker: Worker, task: Task): Promise<{ readonly walk: Walk; readonly alive: boolean }> {
  return new Promise((resolve) => {
    const end = (walk: Walk, alive: boolean): void => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      worker.off('error', onError);
      resolve({ walk, alive });
    };
    const killed = (why: string): void => end({ why, met: {} }, false);
    const onMessage = (walk: Walk): void => end(walk, true);
    const onError = (error: Error): void => killed(`the thread died: ${error.message}`);
    const timer = setTimeout(() => killed(`no end after ${HANG_MS / 1000} s`), HANG_MS);
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.postMessage(task);
  });
}
