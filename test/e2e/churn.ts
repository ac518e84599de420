/**
 * Load on a node: pods that come and go all the time. Each is tried once more when its sandbox fails, as a kubelet would, is asked from another pod
 * for the source address that it sees, and goes again.
 */
import type { CriNode, CriPod } from '../runtime/cri-node.ts';

const TRIES = 2;
const END_TRIES = 10;

export class Churn {
  /** Pods that were there, worked and went. */
  lived = 0;
  /** ADDs that failed and were tried again. */
  readonly retried: string[] = [];
  /** What must not be. */
  readonly failures: string[] = [];
  readonly #node: CriNode;
  readonly #anchor: CriPod;
  readonly #pause: () => Promise<void>;
  #stopped = false;
  readonly #done: Promise<unknown>;

  /** `anchor`: a pod of the node that stays. `atATime`: how many are there. `pause`: between a kubelet's two tries. */
  constructor(
    node: CriNode,
    anchor: CriPod,
    given: { readonly atATime: number; readonly prefix: string; readonly pause: () => Promise<void> },
  ) {
    this.#node = node;
    this.#anchor = anchor;
    this.#pause = given.pause;
    this.#done = Promise.all(
      Array.from({ length: given.atATime }, async (_, worker) => {
        for (let nth = 0; !this.#stopped; nth += 1) await this.#live(`${given.prefix}-${worker}-${nth}`);
      }),
    );
  }

  /** Resolves when the last pods are gone. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #live(name: string): Promise<void> {
    try {
      const pod = await this.#node.startPod(name, {
        tries: TRIES,
        failed: ({ message }) => {
          this.retried.push(`${name}: ${message}`);
          return this.#pause();
        },
      });
      try {
        const seen = await this.#node.sourceSeen(this.#anchor, pod);
        if (seen !== this.#anchor.ip) this.failures.push(`${name} saw ${seen}, not ${this.#anchor.ip}`);
      } finally {
        await this.#end(pod);
      }
      this.lived += 1;
    } catch (error) {
      this.failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** A kubelet goes on trying until the pod's network is given back. */
  async #end(pod: CriPod): Promise<void> {
    for (let left = END_TRIES; ; left -= 1) {
      try {
        await this.#node.stopPod(pod);
        return await this.#node.removePod(pod);
      } catch (error) {
        if (left === 0) throw error;
        await this.#pause();
      }
    }
  }
}
