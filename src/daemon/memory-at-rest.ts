/**
 * Gives memory back when the node rests.
 *
 * V8 collects when something is allocated, and lets its heap grow by what is allocated fast; what a burst of pods has left behind therefore stays
 * for as long as nothing happens, which on a node is hours. So a process that has had next to nothing to do for a few seconds, and has grown
 * since, is told to collect and to make itself small. Whoever calls in that very tenth of a second waits for it, hence the limits: at
 * rest only, for a growth that is worth it, and for at most a hundredth of the time.
 *
 * By the inspector's own command, since that one shrinks the young generation and closes gaps, which `gc()` does not; and `--expose-gc` in
 * mid-life would change what V8 takes compiled code by (boot.ts). No port is opened. Source: Chrome DevTools Protocol,
 * HeapProfiler.collectGarbage; v8-isolate.h, LowMemoryNotification.
 */
import { performance } from 'node:perf_hooks';
import type { Log } from '../ports/log.ts';

export const REST_LOOK_MS = 1_000;
/** Of one processor, between two looks. */
const BUSY_MAX = 0.05;
const QUIET_LOOKS = 3;
const WORTH_BYTES = 16 * 1_024 * 1_024;
/** Of the time, by what the last one took of a processor. */
const SPENT_MAX = 0.01;
const MB = 1e6;

export type Resting = {
  readonly nowMs: () => number;
  /** Of one processor since the question before; beyond 1 where several threads work. The loop's own figure counts what others keep from it. */
  readonly busy: () => number;
  /** null: it cannot be told now. */
  readonly residentBytes: () => number | null;
  /** Resolves with the processor time it took, in ms. */
  readonly collect: () => Promise<number>;
};

export class MemoryAtRest {
  readonly #process: Resting;
  readonly #log: Log;
  #quietLooks = 0;
  /** The least that was resident since the last time. */
  #leastBytes = 0;
  #notBeforeMs = 0;

  constructor(process: Resting, log: Log) {
    this.#process = process;
    this.#log = log;
  }

  /** To be called every REST_LOOK_MS. Never rejects: a Node without an inspector is left as it is. */
  async look(): Promise<void> {
    const { nowMs, busy, residentBytes, collect } = this.#process;
    this.#quietLooks = busy() <= BUSY_MAX ? this.#quietLooks + 1 : 0;
    if (this.#quietLooks < QUIET_LOOKS || nowMs() < this.#notBeforeMs) return;
    const before = residentBytes();
    if (before === null) return;
    this.#leastBytes = Math.min(this.#leastBytes, before);
    if (before - this.#leastBytes < WORTH_BYTES) return;
    try {
      const cpuMs = await collect();
      this.#leastBytes = residentBytes() ?? before;
      this.#notBeforeMs = nowMs() + cpuMs / SPENT_MAX;
      const [fromMb, toMb] = [before, this.#leastBytes].map((bytes) => Math.round(bytes / MB));
      this.#log.debug({ fromMb, toMb, cpuMs: Math.round(cpuMs) }, 'memory given back');
    } catch (error) {
      this.#notBeforeMs = Number.POSITIVE_INFINITY;
      this.#log.debug({ error: String(error) }, 'memory cannot be given back');
    }
  }
}

/** This one. */
export function thisProcess(): Resting {
  const used = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  let [lastMs, lastUsedMs] = [performance.now(), used()];
  return {
    nowMs: () => performance.now(),
    busy: () => {
      const [nowMs, usedMs] = [performance.now(), used()];
      const share = (usedMs - lastUsedMs) / (nowMs - lastMs);
      [lastMs, lastUsedMs] = [nowMs, usedMs];
      return share;
    },
    residentBytes,
    collect: collectGarbage,
  };
}

/** What this process has in memory; null while no file can be opened: libuv reads it in `/proc`. */
export function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}

async function collectGarbage(): Promise<number> {
  const { Session } = process.getBuiltinModule('node:inspector'); // a start does without
  const session = new Session();
  session.connect();
  const before = process.cpuUsage();
  await new Promise<void>((resolve, reject) =>
    session.post('HeapProfiler.collectGarbage', (error) => (error === null ? resolve() : reject(error))),
  ).finally(() => setImmediate(() => session.disconnect())); // Node 20 hangs when it is done in the answer itself
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
