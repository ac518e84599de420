/**
 * A ping that goes on from inside a pod, five times a second: a container beside the pod's own whose log tells each answer. What it must show is every
 * number in turn, since a number that is missing is a packet, or its answer, that was lost.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUSYBOX_IMAGE } from '../runtime/busybox-image.ts';
import type { CriClient } from '../runtime/cri-client.ts';
import type { CriPod } from '../runtime/cri-node.ts';

const INTERVAL_S = '0.2';
const FRESH_TIMEOUT_MS = 30_000;
const POLL_MS = 50;

export class PingWatch {
  readonly name: string;
  readonly #cri: CriClient;
  readonly #containerId: string;
  readonly #log: string;

  private constructor(cri: CriClient, name: string, containerId: string, log: string) {
    this.#cri = cri;
    this.name = name;
    this.#containerId = containerId;
    this.#log = log;
  }

  /** `logs`: the folder that the pod's sandbox was made with. Resolves with the first answer. */
  static async start(cri: CriClient, from: CriPod, to: string, ip: string, logs: string): Promise<PingWatch> {
    const log_path = `ping-${to}.log`;
    const containerId = await cri.startContainer(from.sandboxId, {
      ...{ name: `ping-${to}`, image: BUSYBOX_IMAGE, command: ['ping', '-i', INTERVAL_S, ip], log_path },
    });
    const watch = new PingWatch(cri, `${from.name} to ${to}`, containerId, join(logs, log_path));
    await watch.fresh();
    return watch;
  }

  /** Resolves when an answer has come since now. Rejects when none comes. */
  async fresh(): Promise<void> {
    const before = this.#answers().length;
    const endMs = performance.now() + FRESH_TIMEOUT_MS;
    while (this.#answers().length === before) {
      if (performance.now() > endMs) throw new Error(`ping ${this.name}: no answer in ${FRESH_TIMEOUT_MS} ms`);
      await sleep(POLL_MS);
    }
  }

  /** How many answers there were, and the numbers that are missing between them. */
  seen(): { readonly answers: number; readonly missing: readonly number[] } {
    const numbers = new Set(this.#answers());
    const last = Math.max(-1, ...numbers);
    return {
      answers: numbers.size,
      missing: Array.from({ length: last + 1 }, (_, at) => at).filter((at) => !numbers.has(at)),
    };
  }

  /** The last answer may still be on its way: `fresh` before this. */
  stop(): Promise<void> {
    return this.#cri.removeContainer(this.#containerId, 0);
  }

  #answers(): readonly number[] {
    let text = '';
    try {
      text = readFileSync(this.#log, 'utf8');
    } catch {
      return [];
    }
    return [...text.matchAll(/ seq=(\d+) ttl/g)].map(([, seq]) => Number(seq));
  }
}
