/** Port Kubernetes over a real API server. */
import type { KubeConfig } from '@kubernetes/client-node';
import { EnactorError } from '../../core/errors.ts';
import type { KubeWrites } from '../../ports/kube-writes.ts';
import type { ConfigMapData, KubeEvent, Kubernetes, Node, Pod, PodWatchEvent } from '../../ports/kubernetes.ts';
import { type ApiCall, ApiClient } from './api-client.ts';
import { controllers } from './controller-values.ts';
import { EventRecorder } from './event-recorder.ts';
import { configMapData, countOf, nodeOf, podOf } from './kube-values.ts';
import { KubeWritesApi } from './kube-writes-api.ts';
import { isNotFound } from './kubernetes-error.ts';
import { listPods } from './list-pods.ts';
import type { WatchPace } from './object-watch.ts';
import { podWatch } from './pod-watch.ts';
import { singleWatch } from './single-watch.ts';

export type KubernetesOptions = {
  /** null: the service account of the pod this runs in. */
  readonly kubeconfigPath: string | null;
  /** Named as the source of events, beside the node. */
  readonly component: string;
  readonly host: string;
  /** For each call but a watch; 10 s. */
  readonly timeoutMs?: number;
  readonly nowMs?: () => number;
  readonly pace?: Partial<WatchPace>;
};

const PACE: WatchPace = {
  firstPauseMs: 100,
  maxPauseMs: 30_000,
  steadyMs: 10_000,
  watchSeconds: 300,
  relistMs: 900_000,
  silenceMarginMs: 30_000,
  fraction: Math.random,
};

/**
 * Reads the configuration; no server is asked yet. Rejects with EnactorError `invalidArgument` when it cannot be read or names no server.
 */
export async function connectKubernetes(
  options: KubernetesOptions,
): Promise<Kubernetes & { readonly writes: KubeWrites }> {
  const config = await loadConfig(options.kubeconfigPath);
  const client = new ApiClient(config, options.timeoutMs ?? 10_000);
  const source = { component: options.component, host: options.host };
  const events = new EventRecorder(client, source, options.nowMs ?? Date.now);
  return new KubernetesApi(client, events, { ...PACE, ...options.pace });
}

/** Half a second and 60 MB to load, so only whoever connects pays for it. */
async function loadConfig(path: string | null): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const config = new KubeConfig();
  try {
    if (path === null) config.loadFromCluster();
    else config.loadFromFile(path);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EnactorError('invalidArgument', `kubeconfig ${path ?? 'of the service account'}: ${why}`, error);
  }
  const server = config.getCurrentCluster()?.server ?? '';
  if (URL.canParse(server) && !server.includes('//undefined')) return config;
  const detail =
    path === null ? 'this process runs in no pod with a service account' : `kubeconfig ${path} names no server`;
  throw new EnactorError('invalidArgument', detail);
}

class KubernetesApi implements Kubernetes {
  readonly writes: KubeWrites;
  readonly #client: ApiClient;
  readonly #events: EventRecorder;
  readonly #pace: WatchPace;

  constructor(client: ApiClient, events: EventRecorder, pace: WatchPace) {
    this.#client = client;
    this.writes = new KubeWritesApi(client);
    this.#events = events;
    this.#pace = pace;
  }

  async getPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod | null> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
    const json = await this.#find(path, signal);
    return json === null ? null : podOf(json);
  }

  async getNode(name: string, signal: AbortSignal): Promise<Node | null> {
    const json = await this.#find(`/api/v1/nodes/${encodeURIComponent(name)}`, signal);
    return json === null ? null : nodeOf(json);
  }

  /** Source: Kubernetes API, ListMeta: remainingItemCount is told for lists without selectors. */
  async countNodes(signal: AbortSignal): Promise<number> {
    const path = '/api/v1/nodes';
    return countOf(await this.#client.json({ method: 'GET', path, query: { limit: 1 } }, signal));
  }

  /** Of what the server has at hand: a thousand nodes may ask for the same one at once. Source: Kubernetes API concepts, "Resource versions". */
  async unready(kind: string, namespace: string, name: string, signal: AbortSignal): Promise<number | null> {
    const controller = controllers.get(kind);
    if (controller === undefined) return null;
    const { api, plural, unready } = controller;
    const path = `/apis/${api}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
    const json = await this.#find(path, signal, { resourceVersion: 0 });
    return json === null ? null : unready(json);
  }

  async listNodePods(nodeName: string, signal: AbortSignal): Promise<Pod[]> {
    return (await listPods(this.#client, nodeName, signal)).pods;
  }

  watchNodePods(
    nodeName: string,
    onEvent: (event: PodWatchEvent) => void | Promise<void>,
    signal: AbortSignal,
    onTrouble: (why: string | null) => void = () => {},
  ): Promise<void> {
    return podWatch(this.#client, nodeName, onEvent, this.#pace).run(signal, onTrouble);
  }

  watchNode(
    name: string,
    onNode: (node: Node | null) => void | Promise<void>,
    signal: AbortSignal,
    onTrouble: (why: string | null) => void = () => {},
  ): Promise<void> {
    const watched = { what: 'the node', path: '/api/v1/nodes', name, read: nodeOf };
    return singleWatch(this.#client, watched, onNode, this.#pace).run(signal, onTrouble);
  }

  watchConfigMap(
    namespace: string,
    name: string,
    onData: (data: ConfigMapData | null) => void | Promise<void>,
    signal: AbortSignal,
    onTrouble: (why: string | null) => void = () => {},
  ): Promise<void> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
    const watched = { what: 'a config map', path, name, read: configMapData };
    return singleWatch(this.#client, watched, onData, this.#pace).run(signal, onTrouble);
  }

  recordEvent(event: KubeEvent, signal: AbortSignal): Promise<void> {
    return this.#events.record(event, signal);
  }

  async #find(path: string, signal: AbortSignal, query: NonNullable<ApiCall['query']> = {}): Promise<unknown> {
    try {
      return await this.#client.json({ method: 'GET', path, query }, signal);
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }
}
