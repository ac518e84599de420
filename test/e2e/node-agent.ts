/**
 * The kubelet of a node for the pods of DaemonSets: it runs those that the API server gives the node, tells when they are ready, tries again what
 * failed, hands changed ConfigMaps on, ends what is being deleted, and answers `kubectl logs` and `exec`. A pod's token is the pod's own.
 *
 * Limit: pods of other owners are the test's own, which makes their sandboxes by CRI.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Pod } from '@kubernetes/client-node';
import type { ApiServer } from '../../src/lab/apiserver/api-server.ts';
import { at, isJsonObject, type KubeObject } from '../../src/lab/apiserver/kube-object.ts';
import { known } from '../../src/lab/apiserver/resource.ts';
import { isEnding, nodeOf } from '../../src/lab/controllers/daemon-set-plan.ts';
import { DaemonSetPod } from './daemon-set-pod.ts';
import type { ImageNode } from './image-node.ts';
import type { Cluster } from './pod-volumes.ts';

/** A kubelet's grows from 10 s to five minutes. */
const BACK_OFF_MS = 1_000;

type Running = {
  readonly set: string;
  readonly object: KubeObject;
  readonly token: string;
  readonly ending: AbortController;
  /** Of the present try. */
  pod: DaemonSetPod;
  done: Promise<void>;
};

export class NodeAgent {
  readonly #api: ApiServer;
  readonly #node: ImageNode;
  readonly #running = new Map<string, Running>();
  readonly #ends: (() => void)[] = [];
  readonly #say: (line: string) => void;

  constructor(api: ApiServer, node: ImageNode, say: (line: string) => void) {
    this.#api = api;
    this.#node = node;
    this.#say = say;
    this.#ends.push(
      api.store.subscribe(({ resource, type, object }) => {
        if (resource.plural === 'pods') this.#seen(object, type === 'DELETED');
        // Of one that is gone the pods keep what they have.
        if (resource.plural === 'configmaps' && type !== 'DELETED') this.#changed(object.metadata);
      }),
      api.registerKubelet(node.name, {
        log: async (pod, container) => this.#find(pod).log(container),
        exec: async (pod, container, command) => {
          const { bytes, stderr, exitCode } = await this.#find(pod).exec(container, command);
          return { stdout: bytes, stderr, exitCode };
        },
      }),
    );
    for (const pod of api.store.list(known('pods'), null)) this.#seen(pod, false);
  }

  /** Of that DaemonSet, on this node; null when there is none. */
  podOf(set: string): DaemonSetPod | null {
    return [...this.#running.values()].find((one) => one.set === set && !one.ending.signal.aborted)?.pod ?? null;
  }

  /** Whether one of that DaemonSet is on the node, also while it ends. */
  runs(set: string): boolean {
    return [...this.#running.values()].some((one) => one.set === set);
  }

  get sandboxIds(): readonly string[] {
    return [...this.#running.values()].map(({ pod }) => pod.sandboxId);
  }

  /** Ends the pods that it runs, whatever the API server has. */
  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    for (const { ending } of this.#running.values()) ending.abort();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #seen(object: KubeObject, gone: boolean): void {
    const { uid, ownerReferences = [] } = object.metadata;
    const running = this.#running.get(uid);
    if (running !== undefined && (gone || isEnding(object))) running.ending.abort();
    const set = ownerReferences.find(({ kind }) => kind === 'DaemonSet')?.name;
    if (running !== undefined || gone || isEnding(object) || set === undefined || nodeOf(object) !== this.#node.name)
      return;
    const ending = new AbortController();
    const pod = new DaemonSetPod(this.#node, this.#asRun(object), ending.signal);
    const token = this.#tokenOf(object);
    const one: Running = { set, object, token, ending, pod, done: Promise.resolve() };
    this.#running.set(uid, one);
    one.done = this.#live(one);
  }

  async #live(one: Running): Promise<void> {
    const { signal } = one.ending;
    while (!signal.aborted) {
      try {
        await one.pod.start(this.#clusterOf(one));
        this.#tell(one.object, { ip: await one.pod.ip() });
        await new Promise<void>((resolve) => {
          if (signal.aborted) resolve();
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (!signal.aborted) {
          this.#say(message);
          this.#tell(one.object, { message });
        }
      }
      await one.pod.stop().catch((error: unknown) => this.#say(`${one.pod.name} does not end: ${error}`));
      if (signal.aborted) break;
      await sleep(BACK_OFF_MS, undefined, { signal }).catch(() => {});
      one.pod = new DaemonSetPod(this.#node, this.#asRun(one.object), signal);
    }
    this.#running.delete(one.object.metadata.uid);
    const { namespace = '', name, uid } = one.object.metadata;
    const left = this.#api.store.get(known('pods'), namespace, name);
    const now = { gracePeriodSeconds: 0, uid: null, resourceVersion: null };
    if (left?.metadata.uid === uid) this.#api.lifecycle.delete(known('pods'), left, now);
  }

  #tell({ metadata }: KubeObject, how: { readonly ip: string } | { readonly message: string }): void {
    const object = this.#api.store.get(known('pods'), metadata.namespace ?? null, metadata.name);
    if (object?.metadata.uid !== metadata.uid) return;
    const conditions = [{ type: 'Ready', status: 'ip' in how ? 'True' : 'False' }];
    const now =
      'ip' in how
        ? { phase: 'Running', podIP: how.ip, podIPs: [{ ip: how.ip }] }
        : { phase: 'Pending', message: how.message };
    const status = { ...now, hostIP: this.#node.lab.nodeIp, conditions };
    this.#api.lifecycle.update(known('pods'), object, { ...object, status }, 'status');
  }

  #changed({ namespace, name }: KubeObject['metadata']): void {
    for (const one of this.#running.values())
      if (one.object.metadata.namespace === namespace && one.pod.mounts(name)) one.pod.update(this.#clusterOf(one));
  }

  #clusterOf({ object, token }: Running): Cluster {
    const maps = this.#api.store.list(known('configmaps'), object.metadata.namespace ?? null);
    return { token, configMaps: new Map(maps.map((map) => [map.metadata.name, textsOf(map)])) };
  }

  #tokenOf(object: KubeObject): string {
    const { namespace = '', name: pod } = object.metadata;
    const account = at(object, 'spec.serviceAccountName');
    const name = typeof account === 'string' ? account : 'default';
    return this.#api.issueToken({ namespace, name, pod, node: this.#node.name });
  }

  #asRun(object: KubeObject): V1Pod {
    const status = { hostIP: this.#node.lab.nodeIp };
    return { ...(structuredClone(object) as unknown as V1Pod), status };
  }

  #find({ metadata }: KubeObject): DaemonSetPod {
    const found = this.#running.get(metadata.uid);
    if (found === undefined) throw new Error(`${this.#node.name} does not run ${metadata.name}`);
    return found.pod;
  }
}

function textsOf(map: KubeObject): Readonly<Record<string, string>> {
  const { data } = map;
  return isJsonObject(data) ? (data as Readonly<Record<string, string>>) : {};
}
