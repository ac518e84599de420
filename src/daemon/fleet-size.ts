/**
 * How many nodes share the account's calls: those of the cluster, as the API server counts them.
 *
 * It has to be known as a life begins, before any server is asked, so what was counted last is remembered in a file. A node that never counted
 * takes itself for the only one: it has nothing to serve meanwhile either, and must not wait.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../core/merge-patch.ts';
import type { Kubernetes } from '../ports/kubernetes.ts';
import type { Log } from '../ports/log.ts';

const NAME = 'fleet.json';
/** A count that differs by less is not written anew. */
const WORTH_A_WRITE = 0.1;

export class FleetSize {
  readonly #dataDir: string;
  readonly #log: Log;
  #nodes: number;

  constructor(dataDir: string, log: Log) {
    this.#dataDir = dataDir;
    this.#log = log;
    this.#nodes = remembered(dataDir);
  }

  get nodes(): number {
    return this.#nodes;
  }

  /** Counts anew. Never rejects: what was known holds on. */
  async count(kubernetes: Pick<Kubernetes, 'countNodes'>, signal: AbortSignal): Promise<void> {
    try {
      const nodes = await kubernetes.countNodes(signal);
      const isNews = Math.abs(nodes - this.#nodes) > WORTH_A_WRITE * this.#nodes;
      if (!isNews) return;
      this.#nodes = nodes;
      this.#remember();
    } catch (error) {
      if (!signal.aborted) this.#log.debug({ error: String(error) }, 'the nodes of the cluster could not be counted');
    }
  }

  #remember(): void {
    const unfinished = join(this.#dataDir, `.${NAME}.${process.pid}`);
    try {
      writeFileSync(unfinished, JSON.stringify({ nodes: this.#nodes }), { mode: 0o600 });
      renameSync(unfinished, join(this.#dataDir, NAME));
    } catch (thrown) {
      rmSync(unfinished, { force: true });
      throw thrown;
    }
  }
}

function remembered(dataDir: string): number {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataDir, NAME), 'utf8'));
    const nodes = isObject(value) ? value.nodes : null;
    return Number.isInteger(nodes) && Number(nodes) > 0 ? Number(nodes) : 1;
  } catch {
    return 1;
  }
}
