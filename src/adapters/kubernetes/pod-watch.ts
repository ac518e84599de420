/**
 * Follows the pods of one node: list, watch from the list's version, and again from the last version seen when a watch ends.
 *
 * Between two watches there is always a pause, since a server or proxy that closes at once must not be asked in a busy loop: it
 * doubles while watches are short and starts over after one that has lived for a while.
 * Source: Kubernetes API concepts, "Efficient detection of changes"; client-go reflector.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { failureOf } from '../../core/errors.ts';
import type { PodWatchEvent } from '../../ports/kubernetes.ts';
import type { ApiClient } from './api-client.ts';
import { podOf } from './kube-values.ts';
import { isAhead, isGone, KubernetesError } from './kubernetes-error.ts';
import { listPods } from './list-pods.ts';

export type PodWatchPace = {
  readonly firstPauseMs: number;
  readonly maxPauseMs: number;
  /** A watch that lived this long was no failure. */
  readonly steadyMs: number;
  /** Asked of the server for each watch. */
  readonly watchSeconds: number;
  /** Uniform in [0, 1). */
  readonly fraction: () => number;
};

/** A connection that is silent for this much longer than the watch was to live is dead. */
const SILENCE_MARGIN_MS = 30_000;

export class PodWatch {
  readonly #client: ApiClient;
  readonly #nodeName: string;
  readonly #onEvent: (event: PodWatchEvent) => void | Promise<void>;
  readonly #pace: PodWatchPace;
  /** Where the next watch starts; null: list first. */
  #version: string | null = null;

  constructor(
    client: ApiClient,
    nodeName: string,
    onEvent: (event: PodWatchEvent) => void | Promise<void>,
    pace: PodWatchPace,
  ) {
    this.#client = client;
    this.#nodeName = nodeName;
    this.#onEvent = onEvent;
    this.#pace = pace;
  }

  /** Resolves when `signal` fires. */
  async run(signal: AbortSignal, onTrouble: (why: string) => void): Promise<void> {
    let short = 0;
    while (!signal.aborted) {
      const startMs = performance.now();
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        // What the reader has missed is not known, unless it is the connection alone that failed.
        if (isGone(error) || isAhead(error) || !(error instanceof KubernetesError)) this.#version = null;
        onTrouble(failureOf(error).detail);
      }
      short = performance.now() - startMs >= this.#pace.steadyMs ? 0 : short + 1;
      await this.#pause(short, signal);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#version === null) {
      const { version, pods } = await listPods(this.#client, this.#nodeName, signal);
      await this.#onEvent({ type: 'synced', pods });
      this.#version = version;
    }
    const call = {
      method: 'GET',
      path: '/api/v1/pods',
      query: {
        watch: true,
        allowWatchBookmarks: true,
        fieldSelector: `spec.nodeName=${this.#nodeName}`,
        resourceVersion: this.#version,
        timeoutSeconds: this.#pace.watchSeconds,
      },
    } as const;
    const silenceMs = this.#pace.watchSeconds * 1_000 + SILENCE_MARGIN_MS;
    for await (const line of this.#client.lines(call, silenceMs, signal)) await this.#take(line);
  }

  async #take(line: string): Promise<void> {
    const { type, object } = watchLine(line);
    if (type === 'ERROR') {
      const { code = 0, reason = '', message = '' } = statusSchema.parse(object);
      throw new KubernetesError(`watch of pods: ${code} ${reason} ${message}`, code, reason);
    }
    if (type !== 'BOOKMARK') await this.#onEvent({ type: type === 'DELETED' ? 'gone' : 'changed', pod: podOf(object) });
    this.#version = versionSchema.parse(object).metadata.resourceVersion;
  }

  async #pause(short: number, signal: AbortSignal): Promise<void> {
    const { firstPauseMs, maxPauseMs, fraction } = this.#pace;
    const fullMs = Math.min(firstPauseMs * 2 ** Math.min(short, 30), maxPauseMs);
    await wait(fullMs * (0.5 + fraction() / 2), undefined, { signal }).catch(() => {});
  }
}

const lineSchema = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.unknown(),
});
const versionSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const statusSchema = z.object({
  code: z.number().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

/** A line that is no watch event makes the watcher list anew: what it has missed cannot be known. */
function watchLine(line: string): z.infer<typeof lineSchema> {
  return lineSchema.parse(JSON.parse(line));
}
