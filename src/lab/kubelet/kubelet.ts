/**
 * What kubelet and the container runtime do about pods on one node, as far as the network is concerned: an object in the API server,
 * a namespace, the plugin's ADD and DEL. "Container" is an echo socket.
 *
 * Like kubelet it tries again with a fresh sandbox when ADD fails, after a DEL of the failed one, and it goes on asking for DEL until
 * that succeeds. Source: kubelet SyncPod (sandbox creation and its back-off); CNI SPEC 1.0, "DEL".
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiServer } from '../apiserver/api-server.ts';
import type { KubeObject } from '../apiserver/kube-object.ts';
import { type Resource, resourceNamed } from '../apiserver/resource.ts';
import { Netns } from '../netns/netns.ts';
import { ECHO_PORT, EchoSocket } from '../probe/echo-socket.ts';
import { type CniResult, type CniVerb, callCni } from './cni-runtime.ts';
import type { LabPod } from './lab-pod.ts';
import { plainReason } from './plain-reason.ts';

export const POD_NAMESPACE = 'default';
const IF_NAME = 'eth0';
const RETRY_MS = 500;

export type KubeletOptions = {
  readonly nodeName: string;
  readonly host: Netns;
  readonly api: ApiServer;
  readonly pluginDir: string;
  readonly confDir: string;
  /** Namespaces of pods are made here. */
  readonly netnsDir: string;
  /** How long a pod may take to start before it is called failed. */
  readonly startTimeoutMs: number;
};

type Target = { readonly containerId: string; readonly netnsPath: string; readonly prevResult: CniResult | null };

export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #pods: Resource;

  constructor(options: KubeletOptions) {
    const pods = resourceNamed('pods');
    if (pods === null) throw new Error('the API server of the lab knows no pods');
    this.#options = options;
    this.#pods = pods;
  }

  /** Starts the pod and resolves when it runs. Rejects with the last failure when the time is over; the pod is then removed. */
  async start(pod: LabPod, signal?: AbortSignal): Promise<void> {
    const { api, nodeName, startTimeoutMs } = this.#options;
    const beginMs = performance.now();
    pod.startTimeoutMs = startTimeoutMs;
    const object = api.lifecycle.create(this.#pods, POD_NAMESPACE, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: pod.name, labels: { app: 'echo', ...pod.labels }, annotations: pod.annotations },
      spec: {
        nodeName,
        containers: [
          {
            name: 'echo',
            image: 'enactor.lab/echo',
            resources: { limits: pod.resources },
            ports: pod.hostPorts.map((hostPort) => ({ containerPort: ECHO_PORT, hostPort, protocol: 'UDP' })),
          },
        ],
      },
    });
    await this.#untilRunning(pod, object.metadata.uid, beginMs, signal);
  }

  /**
   * What is left to do after the node went down under its pods, and came up again: their namespaces are gone, the runtime has the old
   * sandboxes deleted, and each pod gets a new one, whichever comes first. Resolves when all run; rejects as `start` does.
   */
  async afterReboot(pods: readonly LabPod[], signal?: AbortSignal): Promise<void> {
    await Promise.all(
      pods.map(async (pod) => {
        const old = pod.sandbox;
        pod.sandbox = null;
        const uid = this.#object(pod)?.metadata.uid ?? '';
        const target = old && { containerId: old.containerId, netnsPath: old.netns.path, prevResult: old.result };
        await Promise.all([
          target === null ? null : this.#del(pod, target),
          this.#untilRunning(pod, uid, performance.now(), signal),
        ]);
      }),
    );
  }

  /** What the power takes from a pod: its process and its namespace, and with that its devices. */
  async cutOff(pod: LabPod): Promise<void> {
    pod.phase = 'starting';
    await pod.echo?.close();
    pod.echo = null;
    pod.sandbox?.netns.remove();
  }

  async #untilRunning(pod: LabPod, uid: string, beginMs: number, signal?: AbortSignal): Promise<void> {
    const { nodeName, startTimeoutMs } = this.#options;
    while (pod.phase === 'starting') {
      try {
        await this.#trySandbox(pod, uid);
        pod.phase = 'running';
        pod.startedInMs = performance.now() - beginMs;
        this.#setStatus(pod);
      } catch (error) {
        pod.failure = plainReason(error instanceof Error ? error.message : String(error));
        pod.failedTries += 1;
        const late = performance.now() - beginMs > startTimeoutMs;
        if (late || signal?.aborted) {
          pod.phase = 'failed';
          await this.stop(pod);
          const within = late ? ` within ${startTimeoutMs / 1_000} s` : '';
          throw new Error(`pod ${pod.name} did not start on ${nodeName}${within}: ${pod.failure}`);
        }
        await sleep(RETRY_MS);
      }
    }
  }

  /** Ends the pod: echo socket, DEL, namespace, object, in this order. Idempotent. Rejects when DEL goes on failing. */
  async stop(pod: LabPod): Promise<void> {
    if (pod.phase === 'gone') return;
    pod.phase = 'stopping';
    this.#deleteObject(pod, null);
    await pod.echo?.close();
    pod.echo = null;
    if (pod.sandbox !== null) {
      const { containerId, netns, result } = pod.sandbox;
      await this.#del(pod, { containerId, netnsPath: netns.path, prevResult: result });
      netns.remove();
      pod.sandbox = null;
    }
    this.#deleteObject(pod, 0);
    pod.phase = 'gone';
  }

  /** CHECK of a running pod. Throws CniError when something is amiss. */
  async check(pod: LabPod): Promise<void> {
    if (pod.sandbox === null) throw new Error(`pod ${pod.name} has no sandbox`);
    const { containerId, netns, result } = pod.sandbox;
    await this.#call('CHECK', pod, { containerId, netnsPath: netns.path, prevResult: result });
  }

  async #trySandbox(pod: LabPod, uid: string): Promise<void> {
    const containerId = randomBytes(32).toString('hex');
    const netns = Netns.create(`${this.#options.netnsDir}/${pod.name}-${containerId.slice(0, 6)}`);
    const target = { containerId, netnsPath: netns.path, prevResult: null };
    try {
      const result = await this.#call('ADD', pod, target, uid);
      if (result === null) throw new Error('ADD gave no result');
      pod.echo = await EchoSocket.open(netns, [4, 6], pod.name);
      pod.sandbox = { containerId, netns, result };
    } catch (error) {
      await this.#call('DEL', pod, target, uid).catch(() => {}); // the runtime's own try; what it leaves, the daemon finds
      netns.remove();
      throw error;
    }
  }

  async #del(pod: LabPod, target: Target): Promise<void> {
    const beginMs = performance.now();
    for (;;) {
      try {
        await this.#call('DEL', pod, target);
        return;
      } catch (error) {
        if (performance.now() - beginMs > this.#options.startTimeoutMs) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  #call(verb: CniVerb, pod: LabPod, target: Target, uid?: string): Promise<CniResult | null> {
    const { host, pluginDir, confDir } = this.#options;
    return callCni({
      verb,
      host,
      pluginDir,
      confDir,
      ifName: IF_NAME,
      portMappings: pod.hostPorts.map((hostPort) => ({ hostPort, containerPort: ECHO_PORT, protocol: 'udp' as const })),
      ...target,
      args: {
        IgnoreUnknown: '1',
        K8S_POD_NAMESPACE: POD_NAMESPACE,
        K8S_POD_NAME: pod.name,
        K8S_POD_INFRA_CONTAINER_ID: target.containerId,
        K8S_POD_UID: uid ?? this.#object(pod)?.metadata.uid ?? '',
      },
    });
  }

  #object(pod: LabPod): KubeObject | null {
    return this.#options.api.store.get(this.#pods, POD_NAMESPACE, pod.name);
  }

  #setStatus(pod: LabPod): void {
    const object = this.#object(pod);
    if (object === null) return;
    const status = { phase: 'Running', podIP: pod.ips[0] ?? '', podIPs: pod.ips.map((ip) => ({ ip })) };
    this.#options.api.lifecycle.update(this.#pods, object, { ...object, status }, 'status');
  }

  /** Grace null marks it as terminating, 0 makes it go: the two deletions of a pod's end. */
  #deleteObject(pod: LabPod, gracePeriodSeconds: number | null): void {
    const object = this.#object(pod);
    if (object === null) return;
    this.#options.api.lifecycle.delete(this.#pods, object, { gracePeriodSeconds, uid: null, resourceVersion: null });
  }
}
