/**
 * A lab node with a real container runtime: containerd in the node's namespace calls the built plugin through the CNI config
 * that the node's daemon installed. Pods exist in the lab's API server first, as the kubelet would have learned of them there.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import type { LabPodOptions } from '../../src/lab/kubelet/lab-pod.ts';
import type { Lab } from '../../src/lab/lab.ts';
import type { LabNode } from '../../src/lab/node/lab-node.ts';
import { findPrograms, PLUGIN_NAME } from '../../src/lab/programs.ts';
import { BUSYBOX_IMAGE, WEB_COMMAND } from './busybox-image.ts';
import { type Containerd, DEBIAN_CNI_FOLDER, linkPlugins, startContainerd } from './containerd.ts';
import { sourceSeenBy } from './web-probe.ts';

const NAMESPACE = 'default';

export type CriPod = {
  readonly name: string;
  readonly sandboxId: string;
  /** From the sandbox status, which has it from the plugin's result. */
  readonly ip: string;
  /** That one, and what else the status has. */
  readonly ips: readonly string[];
  readonly containerId: string;
};

export type CriPodOptions = Omit<LabPodOptions, 'hostPorts'> & {
  /** Of the containers' logs, as the runtime sees it. */
  readonly logDirectory?: string;
  /** How often the sandbox is tried, as the kubelet goes on trying; once if not told. */
  readonly tries?: number;
  /** Told of each try that failed; the next one is made when it resolves. */
  readonly failed?: (error: Error) => Promise<void>;
};

export class CriNode {
  readonly node: LabNode;
  readonly containerd: Containerd;
  readonly #lab: Lab;

  private constructor(lab: Lab, node: LabNode, containerd: Containerd) {
    this.#lab = lab;
    this.node = node;
    this.containerd = containerd;
  }

  /** Resolves when the runtime has taken the network up, so when the daemon has installed the CNI config. */
  static async start(lab: Lab, node: LabNode): Promise<CriNode> {
    const dir = join(node.dir, 'cri');
    mkdirSync(dir);
    const cniBinDir = join(dir, 'bin');
    await linkPlugins(cniBinDir, [join(findPrograms().cniDir, PLUGIN_NAME), join(DEBIAN_CNI_FOLDER, 'loopback')]);
    const netns = node.guest.netns.path;
    const containerd = await startContainerd({ netns, runDir: join(dir, 'run'), cniBinDir, cniConfDir: node.confDir });
    try {
      await containerd.whenNetworkReady();
    } catch (error) {
      await containerd.stop();
      throw error;
    }
    return new CriNode(lab, node, containerd);
  }

  /** With a runtime that somebody else has started, and ends. */
  static on(lab: Lab, node: LabNode, containerd: Containerd): CriNode {
    return new CriNode(lab, node, containerd);
  }

  /** Makes the pod's object, sandbox and one container that says which source address it was reached from. */
  async startPod(
    name: string,
    { labels = {}, annotations = {}, resources = {}, tries = 1, logDirectory = '', failed }: CriPodOptions = {},
  ): Promise<CriPod> {
    const { cri } = this.containerd;
    const { metadata } = this.#lab.api.lifecycle.create(pods(), NAMESPACE, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels, annotations },
      spec: {
        nodeName: this.node.name,
        containers: [{ name: 'web', image: BUSYBOX_IMAGE, resources: { limits: resources } }],
      },
    });
    const sandbox = async (attempt: number): Promise<string> => {
      try {
        return await cri.runPodSandbox({ namespace: NAMESPACE, name, uid: metadata.uid }, { attempt, logDirectory });
      } catch (error) {
        await failed?.(error as Error);
        if (attempt + 1 >= tries) throw error;
        return sandbox(attempt + 1);
      }
    };
    const sandboxId = await sandbox(0);
    const { ip, additionalIps } = await cri.sandboxStatus(sandboxId);
    const containerId = await cri.runContainer(sandboxId, 'web', BUSYBOX_IMAGE, WEB_COMMAND);
    const ips = [ip, ...additionalIps];
    this.#tellRunning(name, ips);
    return { name, sandboxId, ip, ips, containerId };
  }

  /** The pod's status, as the kubelet writes it: endpoints of services come from there. */
  #tellRunning(name: string, ips: readonly string[]): void {
    const { api } = this.#lab;
    const object = api.store.get(pods(), NAMESPACE, name);
    if (object === null) return;
    const status = { phase: 'Running', podIP: ips[0] ?? '', podIPs: ips.map((ip) => ({ ip })) };
    api.lifecycle.update(pods(), object, { ...object, status }, 'status');
  }

  /** The source address that `to` saw when `from`, a pod of this node, asked it. */
  sourceSeen(from: CriPod, to: CriPod): Promise<string> {
    return sourceSeenBy(this.containerd.cri, from.containerId, to.ip);
  }

  /** Stops the sandbox and its containers; the network is given back, the stopped sandbox stays until `removePod`. */
  stopPod(pod: CriPod): Promise<void> {
    return this.containerd.cri.stopPodSandbox(pod.sandboxId);
  }

  async removePod(pod: CriPod): Promise<void> {
    await this.containerd.cri.removePodSandbox(pod.sandboxId);
    const { api } = this.#lab;
    const object = api.store.get(pods(), NAMESPACE, pod.name);
    if (object !== null)
      api.lifecycle.delete(pods(), object, { gracePeriodSeconds: 0, uid: null, resourceVersion: null });
  }
}

function pods() {
  const resource = resourceNamed('pods');
  if (resource === null) throw new Error('the API server of the lab knows no pods');
  return resource;
}
