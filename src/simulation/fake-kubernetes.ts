/**
 * Port Kubernetes in memory, thin: pods and nodes that somebody puts there, a watch that tells of each change, events that are counted.
 * The fake of src/adapters/kubernetes, held to the same contract suite (test/contracts/kubernetes.ts).
 *
 * What it cannot show: connections that break, and what the adapter does about them.
 */
import type { ConfigMapData, KubeEvent, Kubernetes, Node, Pod, PodWatchEvent } from '../ports/kubernetes.ts';

const MESSAGE_MAX_BYTES = 1_024;

/** Pods of the whole cluster. */
export type FakeController = {
  readonly wanted: number;
  readonly ready: number;
  /** Each waits until the one before is ready. */
  readonly oneByOne?: boolean;
};

export class FakeKubernetes implements Kubernetes {
  readonly #pods = new Map<string, Pod>();
  readonly #nodes = new Watchable<Node>();
  readonly #configMaps = new Watchable<ConfigMapData>();
  readonly #controllers = new Map<string, FakeController>();
  readonly #watchers = new Set<{ readonly nodeName: string; readonly tell: (event: PodWatchEvent) => void }>();
  /** JSON of the event -> how often. */
  readonly events = new Map<string, number>();
  /** They hear of each pod that is put here, wherever it is scheduled. */
  readonly onPut = new Set<(pod: Pod) => void>();

  /** As it is at this moment. */
  pod(namespace: string, name: string): Pod | null {
    return this.#pods.get(`${namespace}/${name}`) ?? null;
  }

  get pods(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  putPod(pod: Pod): void {
    this.#pods.set(`${pod.namespace}/${pod.name}`, pod);
    for (const heard of this.onPut) heard(pod);
    this.#tell({ type: 'changed', pod });
  }

  deletePod(namespace: string, name: string): void {
    const pod = this.#pods.get(`${namespace}/${name}`);
    if (pod === undefined) return;
    this.#pods.delete(`${namespace}/${name}`);
    this.#tell({ type: 'gone', pod });
  }

  putNode(node: Node): void {
    this.#nodes.put(node.name, node);
  }

  /** null takes it away. */
  putConfigMap(namespace: string, name: string, data: ConfigMapData | null): void {
    this.#configMaps.put(`${namespace}/${name}`, data);
  }

  /** Of CONTROLLER_KINDS; null takes it away. */
  putController(kind: string, namespace: string, name: string, controller: FakeController | null): void {
    const key = `${kind}/${namespace}/${name}`;
    if (controller === null) this.#controllers.delete(key);
    else this.#controllers.set(key, controller);
  }

  #tell(event: Exclude<PodWatchEvent, { type: 'synced' }>): void {
    for (const { nodeName, tell } of this.#watchers) if (event.pod.nodeName === nodeName) tell(event);
  }

  async getPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod | null> {
    throwIfAborted(signal);
    return this.#pods.get(`${namespace}/${name}`) ?? null;
  }

  async getNode(name: string, signal: AbortSignal): Promise<Node | null> {
    throwIfAborted(signal);
    return this.#nodes.get(name);
  }

  async countNodes(signal: AbortSignal): Promise<number> {
    throwIfAborted(signal);
    return this.#nodes.size;
  }

  async unready(kind: string, namespace: string, name: string, signal: AbortSignal): Promise<number | null> {
    throwIfAborted(signal);
    const controller = this.#controllers.get(`${kind}/${namespace}/${name}`);
    if (controller === undefined) return null;
    const { wanted, ready, oneByOne = false } = controller;
    return Math.min(Math.max(0, wanted - ready), oneByOne ? 1 : Infinity);
  }

  async listNodePods(nodeName: string, signal: AbortSignal): Promise<Pod[]> {
    throwIfAborted(signal);
    return [...this.#pods.values()].filter((pod) => pod.nodeName === nodeName);
  }

  async watchNodePods(
    nodeName: string,
    onEvent: (event: PodWatchEvent) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) return;
    const pods = await this.listNodePods(nodeName, signal);
    // One event after another: the next is told when the promise of the one before has settled, whatever it came to.
    let telling = Promise.resolve();
    const tell = (event: PodWatchEvent): void => {
      telling = telling.then(async () => {
        if (!signal.aborted) await onEvent(event);
      });
      telling = telling.catch(() => undefined);
    };
    const watcher = { nodeName, tell };
    tell({ type: 'synced', pods });
    this.#watchers.add(watcher);
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      if (signal.aborted) resolve();
    });
    this.#watchers.delete(watcher);
  }

  watchNode(name: string, onNode: (node: Node | null) => void | Promise<void>, signal: AbortSignal): Promise<void> {
    return this.#nodes.watch(name, onNode, signal);
  }

  watchConfigMap(
    namespace: string,
    name: string,
    onData: (data: ConfigMapData | null) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#configMaps.watch(`${namespace}/${name}`, onData, signal);
  }

  async recordEvent(event: KubeEvent, signal: AbortSignal): Promise<void> {
    throwIfAborted(signal);
    const { target, type, reason, message, times = 1 } = event;
    const same = [...this.events].find(([text]) => {
      const one = JSON.parse(text) as KubeEvent;
      return one.type === type && one.reason === reason && JSON.stringify(one.target) === JSON.stringify(target);
    });
    if (same !== undefined) this.events.delete(same[0]);
    this.events.set(JSON.stringify({ target, type, reason, message: cut(message) }), (same?.[1] ?? 0) + times);
  }
}

/** Objects by name, and those who follow one of them. */
class Watchable<T> {
  readonly #objects = new Map<string, T>();
  readonly #watchers = new Set<{ readonly name: string; readonly tell: (object: T | null) => void }>();

  get size(): number {
    return this.#objects.size;
  }

  get(name: string): T | null {
    return this.#objects.get(name) ?? null;
  }

  put(name: string, object: T | null): void {
    if (object === null) this.#objects.delete(name);
    else this.#objects.set(name, object);
    for (const watcher of this.#watchers) if (watcher.name === name) watcher.tell(object);
  }

  async watch(name: string, onObject: (object: T | null) => void | Promise<void>, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    let telling = Promise.resolve();
    const tell = (object: T | null): void => {
      telling = telling.then(async () => {
        if (!signal.aborted) await onObject(object);
      });
      telling = telling.catch(() => undefined);
    };
    const watcher = { name, tell };
    this.#watchers.add(watcher);
    tell(this.get(name));
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      if (signal.aborted) resolve();
    });
    this.#watchers.delete(watcher);
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw Object.assign(new Error('the call was aborted'), { name: 'AbortError' });
}

/** At a whole character, with a mark that something is missing. */
function cut(message: string): string {
  if (Buffer.byteLength(message) <= MESSAGE_MAX_BYTES) return message;
  let text = message;
  while (Buffer.byteLength(text) > MESSAGE_MAX_BYTES - 3) text = text.slice(0, -1);
  return `${text}…`;
}
