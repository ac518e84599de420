/** Who reaches whom, tried again and again while the lab lives. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Path } from '../checks/path-plan.ts';
import { pathsOf } from '../checks/path-plan.ts';
import { type PathOutcome, tryPaths } from '../checks/try-paths.ts';
import type { Lab } from '../lab.ts';

export type Reachability = {
  /** The last round's outcomes; null before the first has ended. */
  readonly outcomes: readonly PathOutcome[];
  readonly atMs: number | null;
};

const ROUND_MS = 2_000;
const PROBE_MS = 800;
/** A round tries at most so many paths, the oldest first, so that a big lab is not all probing. */
const PATHS_MAX = 300;

export class ReachabilityWatch {
  readonly #lab: Lab;
  readonly #end = new AbortController();
  readonly #last = new Map<string, PathOutcome & { readonly atMs: number }>();
  #atMs: number | null = null;
  #running: Promise<void> | null = null;

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  get latest(): Reachability {
    return { outcomes: [...this.#last.values()], atMs: this.#atMs };
  }

  /** Resolves when the round under way has ended. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      await this.#round();
      await sleep(ROUND_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #round(): Promise<void> {
    const paths = pathsOf(this.#lab);
    const current = new Set(paths.map(keyOf));
    for (const key of this.#last.keys()) if (!current.has(key)) this.#last.delete(key);
    const age = (path: Path) => this.#last.get(keyOf(path))?.atMs ?? 0;
    const now = paths.toSorted((a, b) => age(a) - age(b)).slice(0, PATHS_MAX);
    const outcomes = await tryPaths(this.#lab, now, { timeoutMs: PROBE_MS });
    const still = new Set(pathsOf(this.#lab).map(keyOf));
    for (const outcome of outcomes) {
      // A pod that went while it was probed is no fault.
      if (still.has(keyOf(outcome))) this.#last.set(keyOf(outcome), { ...outcome, atMs: Date.now() });
    }
    this.#atMs = Date.now();
  }
}

function keyOf({ from, to, family }: Path): string {
  return `${from} ${to} ${family ?? 4}`;
}
