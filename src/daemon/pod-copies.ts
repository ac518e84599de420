/**
 * The node's pods as a watch tells of them, in memory and, of those that matter to an ADD, on disk (core/pod-copy.ts): an ADD that names
 * the uid of a pod that is known needs no round trip to the API server, and none at all while that is away.
 *
 * Writes are not synced and wait for nobody: a copy that is lost costs a question.
 */
import { copyOf, isOfUid, type KeptPod, POD_COPY_MS, type PodCopy, parsePodCopy } from '../core/pod-copy.ts';
import { type PodRef, podKey } from '../core/sandbox.ts';
import type { Clock } from '../ports/clock.ts';
import type { Kubernetes, PodWatchEvent } from '../ports/kubernetes.ts';
import type { Log } from '../ports/log.ts';
import type { Store, StoreOp } from '../ports/store.ts';
import type { NodePods } from './node-pods.ts';

/**
 * Pods that are gone and known yet: 17 a minute for an hour, 200 a minute for the five minutes that an address is usually kept. Without a bound
 * a node of short jobs would keep a kilobyte for each of an hour.
 */
export const GONE_MAX = 1_024;

export type PodCopiesParts = {
  readonly store: Store;
  readonly kubernetes: Pick<Kubernetes, 'watchNodePods'>;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Hears of the same events. */
  readonly pods?: NodePods;
};

export class PodCopies {
  readonly #parts: PodCopiesParts;
  readonly #copies = new Map<string, PodCopy>();
  /** Keys whose record is not what is known. */
  readonly #unwritten = new Set<string>();
  /** Gone ones that went before their hour, since the last word about it. */
  #forgotten = 0;
  #loaded = false;
  #away = false;

  constructor(parts: PodCopiesParts) {
    this.#parts = parts;
  }

  /** The pod with the uid that the caller names, if it is there for all that is known; null otherwise, and where none is named. */
  there({ namespace, name, uid }: PodRef): KeptPod | null {
    const copy = this.#copies.get(podKey({ namespace, name }));
    return copy !== undefined && copy.goneAtMs === null && uid !== null && isOfUid(copy.pod, uid) ? copy.pod : null;
  }

  /** A pod that has gone within the hour. */
  gone({ namespace, name, uid }: PodRef): KeptPod | null {
    const copy = this.#copies.get(podKey({ namespace, name }));
    if (copy === undefined || copy.goneAtMs === null || this.#isOld(copy)) return null;
    return uid === null || isOfUid(copy.pod, uid) ? copy.pod : null;
  }

  /** Follows the node's pods until `signal` fires. Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    const { kubernetes, nodeName, log } = this.#parts;
    const trouble = (why: string | null): void => {
      this.#parts.pods?.trouble(why);
      // Once for each time that it goes away.
      if (why !== null && !this.#away) log.warn({ why }, 'the pods of this node cannot be watched');
      if (why === null && this.#away) log.info({}, 'the pods of this node are watched again');
      this.#away = why !== null;
    };
    await this.tidy();
    await kubernetes.watchNodePods(nodeName, (event) => this.#take(event), signal, trouble).catch(() => {});
  }

  /** Forgets who has been gone for an hour, tells who had to go before, and writes what could not be written. Never rejects. */
  async tidy(): Promise<void> {
    await this.#load();
    for (const [key, copy] of this.#copies)
      if (this.#isOld(copy)) {
        this.#copies.delete(key);
        this.#unwritten.add(key);
      }
    this.#forgetOver();
    if (this.#forgotten > 0)
      this.#parts.log.info(
        { pods: this.#forgotten },
        'many pods went: those gone longest are forgotten within the hour',
      );
    this.#forgotten = 0;
    await this.#write();
  }

  async #take(event: PodWatchEvent): Promise<void> {
    this.#away = false;
    this.#parts.pods?.take(event);
    if (event.type === 'synced') {
      const there = new Set(event.pods.map(podKey));
      for (const pod of event.pods) this.#note(podKey(pod), copyOf(pod));
      for (const [key, copy] of this.#copies) if (!there.has(key)) this.#isGone(key, copy);
    } else if (event.type === 'changed') this.#note(podKey(event.pod), copyOf(event.pod));
    else this.#isGone(podKey(event.pod), copyOf(event.pod));
    this.#forgetOver();
    await this.#write();
  }

  #isGone(key: string, copy: PodCopy): void {
    const known = this.#copies.get(key);
    if (known?.goneAtMs !== null && known?.goneAtMs !== undefined && known.pod.uid === copy.pod.uid) return;
    this.#note(key, { ...copy, goneAtMs: this.#parts.clock.nowMs() });
  }

  #note(key: string, copy: PodCopy): void {
    if (JSON.stringify(this.#copies.get(key)) === JSON.stringify(copy)) return;
    this.#copies.set(key, copy);
    this.#unwritten.add(key);
  }

  /** Whoever has been gone for longest goes first. */
  #forgetOver(): void {
    if (this.#copies.size <= GONE_MAX) return;
    const gone = [...this.#copies].flatMap(([key, { goneAtMs }]) => (goneAtMs === null ? [] : [{ key, goneAtMs }]));
    const over = Math.max(0, gone.length - GONE_MAX);
    for (const { key } of gone.sort((a, b) => a.goneAtMs - b.goneAtMs).slice(0, over)) {
      this.#copies.delete(key);
      this.#unwritten.add(key);
    }
    this.#forgotten += over;
  }

  #isOld({ goneAtMs }: PodCopy): boolean {
    return goneAtMs !== null && this.#parts.clock.nowMs() - goneAtMs >= POD_COPY_MS;
  }

  /** What earlier lives have written; what this one has heard meanwhile is newer. */
  async #load(): Promise<void> {
    if (this.#loaded) return;
    try {
      for (const { key, value } of await this.#parts.store.read('pods')) {
        const copy = parsePodCopy(value);
        const ours = copy !== null && copy.pod.nodeName === this.#parts.nodeName;
        if (!ours) this.#unwritten.add(key);
        else if (!this.#copies.has(key)) this.#copies.set(key, copy);
      }
      this.#loaded = true;
    } catch (error) {
      this.#parts.log.debug({ err: String(error) }, 'copies of pods cannot be read yet');
    }
  }

  async #write(): Promise<void> {
    const keys = [...this.#unwritten];
    // Before what is there has been read it cannot be told what is to go.
    if (keys.length === 0 || !this.#loaded) return;
    this.#unwritten.clear();
    const ops = keys.map((key): StoreOp => {
      const value = this.#copies.get(key);
      return value === undefined ? { type: 'del', in: 'pods', key } : { type: 'put', in: 'pods', key, value };
    });
    try {
      await this.#parts.store.write(ops, { synced: false });
    } catch (error) {
      for (const key of keys) this.#unwritten.add(key);
      this.#parts.log.debug({ pods: keys.length, err: String(error) }, 'copies of pods cannot be written yet');
    }
  }
}
