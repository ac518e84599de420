/**
 * One pod of a DaemonSet on one node, run as the kubelet runs it: its volumes, its sandbox, the init containers one after the other,
 * then its containers, until they are ready by their own probes. It is ended as the kubelet ends it, with the grace that it asks for.
 *
 * Limits: probes are asked while one waits for readiness, and not afterwards; what ends by itself is started again by `restart` alone.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { V1Container, V1Pod } from '@kubernetes/client-node';
import { BUSYBOX_PATH } from '../runtime/busybox-image.ts';
import { containerSpec } from './container-spec.ts';
import type { ImageNode } from './image-node.ts';
import { type Cluster, type LaidVolume, PodVolumes } from './pod-volumes.ts';

const POLL_MS = 100;
const END_TIMEOUT_MS = 120_000;
const READY_TIMEOUT_MS = 120_000;
const LOG_TAIL_LINES = 30;

export class DaemonSetPod {
  readonly #node: ImageNode;
  readonly #pod: V1Pod;
  readonly #volumes: PodVolumes;
  readonly #signal: AbortSignal;
  readonly #containers = new Map<string, { readonly id: string; readonly attempt: number }>();
  #laid: readonly LaidVolume[] = [];
  #sandboxId = '';

  /** `pod`: as the API server has it. `signal`: ends the waiting, with an AbortError. */
  constructor(node: ImageNode, pod: V1Pod, signal: AbortSignal) {
    this.#node = node;
    this.#pod = pod;
    this.#signal = signal;
    this.#volumes = new PodVolumes(pod, node.root);
  }

  get sandboxId(): string {
    return this.#sandboxId;
  }

  get name(): string {
    return this.#pod.metadata?.name ?? '';
  }

  /** Resolves when it is ready. Rejects with the end of the log of what failed; `stop` is then the caller's. */
  async start(cluster: Cluster): Promise<void> {
    const { metadata, spec } = this.#pod;
    const { cri } = this.#node.containerd;
    this.#laid = this.#volumes.lay(cluster);
    this.#sandboxId = await cri.runPodSandbox(
      { name: this.name, namespace: metadata?.namespace ?? '', uid: metadata?.uid ?? '' },
      { hostNetwork: spec?.hostNetwork === true, logDirectory: this.#node.logFolder(this.name) },
    );
    for (const container of spec?.initContainers ?? []) {
      const id = await this.#run(container, 0);
      const { state, exit_code } = await this.#whenEnded(id, container.name);
      if (state !== 'CONTAINER_EXITED' || exit_code !== 0)
        throw this.#failure(container.name, `ended with ${exit_code}`);
    }
    for (const container of spec?.containers ?? []) await this.#run(container, 0);
    await this.whenReady();
  }

  /** Resolves when each container runs, and answers its readiness probe if it has one. */
  async whenReady(timeoutMs = READY_TIMEOUT_MS): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    for (const container of this.#pod.spec?.containers ?? []) {
      const { id } = this.#containers.get(container.name) ?? { id: '' };
      while (!(await this.#answers(container))) {
        const { state, exit_code } = await this.#node.containerd.cri.containerStatus(id);
        if (state === 'CONTAINER_EXITED') throw this.#failure(container.name, `ended with ${exit_code}`);
        if (performance.now() > endMs) throw this.#failure(container.name, `is not ready after ${timeoutMs} ms`);
        await sleep(POLL_MS, undefined, { signal: this.#signal });
      }
    }
  }

  /** The kubelet's answer to a container that ended, or was killed: another of the same name. Resolves when it has been started. */
  async restart(name: string): Promise<void> {
    const container = this.#pod.spec?.containers.find((each) => each.name === name);
    const old = this.#containers.get(name);
    if (container === undefined || old === undefined) throw new Error(`${this.name} has no container ${name}`);
    // One that has just been killed runs for the runtime until it has been told, and is not removed before.
    await this.#whenEnded(old.id, name);
    await this.#node.containerd.cri.removeContainer(old.id, 0);
    await this.#run(container, old.attempt + 1);
  }

  /** Of its own network, or the node's. */
  async ip(): Promise<string> {
    if (this.#pod.spec?.hostNetwork === true) return this.#node.lab.nodeIp;
    return (await this.#node.containerd.cri.sandboxStatus(this.#sandboxId)).ip;
  }

  /** Whether that ConfigMap has been laid for it as a volume. */
  mounts(configMap: string): boolean {
    return this.#laid.length > 0 && this.#pod.spec?.volumes?.some((one) => one.configMap?.name === configMap) === true;
  }

  /** A changed ConfigMap reaches the pod. */
  update(cluster: Cluster): void {
    this.#volumes.update(cluster);
  }

  /** Runs a command in a container. */
  exec(name: string, command: readonly string[]) {
    return this.#node.containerd.cri.exec(this.#containers.get(name)?.id ?? '', command);
  }

  /** What a container has written, without the runtime's stamps. */
  log(name: string): string {
    const attempt = this.#containers.get(name)?.attempt ?? 0;
    const path = join(this.#node.logFolder(this.name), name, `${attempt}.log`);
    return readFileSync(path, 'utf8').replaceAll(/^\S+ std(out|err) [FP] /gm, '');
  }

  /** With the pod's own grace; its volumes go too. */
  async stop(): Promise<void> {
    const { cri } = this.#node.containerd;
    const grace = this.#pod.spec?.terminationGracePeriodSeconds ?? 30;
    for (const [name, { id }] of this.#containers) {
      if (this.#pod.spec?.containers.some((each) => each.name === name)) await cri.stopContainer(id, grace);
    }
    if (this.#sandboxId !== '') {
      await cri.stopPodSandbox(this.#sandboxId);
      await cri.removePodSandbox(this.#sandboxId);
    }
    this.#volumes.remove();
    this.#laid = [];
  }

  async #run(container: V1Container, attempt: number): Promise<string> {
    const { services } = this.#node;
    const spec = containerSpec(container, { pod: this.#pod, volumes: this.#laid, services, attempt });
    const id = await this.#node.containerd.cri.startContainer(this.#sandboxId, spec);
    this.#containers.set(container.name, { id, attempt });
    return id;
  }

  async #whenEnded(id: string, name: string) {
    const endMs = performance.now() + END_TIMEOUT_MS;
    for (;;) {
      const status = await this.#node.containerd.cri.containerStatus(id);
      if (status.state === 'CONTAINER_EXITED') return status;
      if (performance.now() > endMs) throw this.#failure(name, `has not ended after ${END_TIMEOUT_MS} ms`);
      await sleep(POLL_MS, undefined, { signal: this.#signal });
    }
  }

  /** True without a probe. A kubelet asks from the node, over TCP. */
  async #answers({ name, ports, readinessProbe }: V1Container): Promise<boolean> {
    const get = readinessProbe?.httpGet;
    if (get === undefined) return true;
    const port = typeof get.port === 'number' ? get.port : ports?.find((each) => each.name === get.port)?.containerPort;
    if (port === undefined) throw this.#failure(name, `has no port ${get.port}`);
    const request = `printf 'GET ${get.path} HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 5 ${this.#node.lab.nodeIp} ${port}`;
    const answer = await this.#node.run(BUSYBOX_PATH, ['sh', '-c', request]).catch(() => '');
    return /^HTTP\/1\.[01] 2/.test(answer);
  }

  #failure(name: string, what: string): Error {
    let tail = '';
    try {
      tail = this.log(name).trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
    } catch {
      tail = 'no log';
    }
    return new Error(`${this.#node.name}: ${this.name}: ${name} ${what}\n${tail}`);
  }
}
