/**
 * Where the run happens: a lab of nodes without daemons, each with a root and a containerd of its own that know both images, and the DaemonSet's pods on
 * them. Everything that was started is ended by `close`, also after a failure in the middle.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControllers } from '../../src/lab/controllers/controllers.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { CriNode, type CriPod } from '../runtime/cri-node.ts';
import { refuseUnknownFields } from '../runtime/unknown-fields.ts';
import type { DaemonSetPod } from './daemon-set-pod.ts';
import { EditedDeploy } from './edited-deploy.ts';
import { Hands } from './hands.ts';
import { ImageNode } from './image-node.ts';
import type { Image } from './images.ts';
import { NodeAgent } from './node-agent.ts';
import { PAGE } from './page.ts';
import { until } from './until.ts';

/** Of the instances, in whose name the daemon calls the cloud: the overlays name no keys. */
const RAM_ROLE = 'enactor';
const PATIENCE_MS = 120_000;

export type StageNode = {
  readonly node: ImageNode;
  readonly pods: CriNode;
  readonly agent: NodeAgent;
  /** Of the DaemonSet; null before and after. */
  readonly daemon: DaemonSetPod | null;
};

export class Stage {
  readonly lab: Lab;
  readonly nodes: readonly StageNode[];
  readonly deploy: EditedDeploy;
  readonly hands: Hands;
  readonly #folder: string;
  readonly #stopControllers: () => void;

  private constructor(lab: Lab, nodes: readonly StageNode[], folder: string) {
    this.lab = lab;
    this.nodes = nodes;
    this.#folder = folder;
    this.deploy = new EditedDeploy(lab, folder);
    this.hands = new Hands(lab.api, folder);
    this.#stopControllers = startControllers(lab.api);
  }

  static async open(given: {
    readonly nodes: number;
    readonly instanceType?: string;
    readonly images: readonly Image[];
    readonly say: (line: string) => void;
  }): Promise<Stage> {
    const topology = labTopology(given.nodes, given.instanceType);
    const instances = topology.instances.map((one) => ({ ...one, ramRole: RAM_ROLE }));
    const lab = await startLab({
      daemons: false,
      topology: { ...topology, instances },
      checkFields: refuseUnknownFields,
    });
    const started: ImageNode[] = [];
    try {
      await Promise.all(
        lab.nodes.map(async (one) => {
          const node = await ImageNode.start(one);
          started.push(node);
          for (const { tar } of given.images) await node.containerd.importImage(resolve(tar));
          given.say(`${node.name}: containerd has ${given.images.map(({ name }) => name).join(' and ')}`);
        }),
      );
    } catch (error) {
      await Promise.allSettled(started.map((node) => node.stop()));
      await lab.stop();
      throw error;
    }
    const inOrder = lab.nodes.flatMap((one) => started.find((node) => node.lab === one) ?? []);
    const nodes = inOrder.map((node): StageNode => {
      const agent = new NodeAgent(lab.api, node, given.say);
      const pods = CriNode.on(lab, node.lab, node.containerd);
      return {
        node,
        pods,
        agent,
        get daemon() {
          return agent.podOf('enactor');
        },
      };
    });
    return new Stage(lab, nodes, mkdtempSync(join(tmpdir(), 'enactor-stage-')));
  }

  /** Two nodes or more, or an Error. */
  pair(): readonly [StageNode, StageNode] {
    const [first, second] = this.nodes;
    if (first === undefined || second === undefined) throw new Error('the stage has two nodes');
    return [first, second];
  }

  /** Applies the overlay with an image and the configuration changed, and resolves when it is rolled out: each node's daemon is ready. */
  async apply(image: Image, edits: Readonly<Record<string, unknown>> = {}): Promise<void> {
    this.deploy.nameImage(image);
    this.deploy.configure(edits);
    await this.hands.type(PAGE.apply);
    await this.hands.type(PAGE.rolledOut);
  }

  /** Resolves when no pod of a DaemonSet runs on any node. */
  whenNoneRuns(set: string): Promise<void> {
    return until(`no pod of ${set} runs`, async () => this.nodes.every(({ agent }) => !agent.runs(set)));
  }

  /** Resolves when the node's daemon is ready, after a while at least. */
  async pause(on: StageNode, leastMs: number): Promise<void> {
    await sleep(leastMs);
    const endMs = performance.now() + PATIENCE_MS;
    while (!(await on.node.serves())) {
      if (performance.now() > endMs) throw new Error(`${on.node.name}: no daemon serves`);
      await sleep(100);
    }
  }

  /** What the kubelet does with what a failed ADD left, and with all pods of a node that is drained: nothing of the cluster's network is left on it. */
  async drain(on: StageNode): Promise<void> {
    const { cri } = on.node.containerd;
    const kept = on.agent.sandboxIds;
    for (const id of await cri.listSandboxIds()) if (!kept.includes(id)) await cri.removePodSandbox(id);
  }

  /** Of a pod of the cluster's network on a node, whose containers' logs are kept. */
  async pod(on: StageNode, name: string): Promise<CriPod & { readonly logs: string }> {
    const logs = on.node.logFolder(name);
    return { ...(await on.pods.startPod(name, { logDirectory: logs, tries: 2 })), logs };
  }

  /** The ends of the logs of what runs, for whoever has to find out why. */
  async logs(): Promise<string> {
    const texts = this.nodes.map(async ({ node, daemon }) => {
      let said = 'no daemon';
      try {
        said = daemon?.log('enactord').trimEnd().split('\n').slice(-40).join('\n') ?? said;
      } catch {
        said = 'no log';
      }
      return `--- ${node.name}: daemon\n${said}\n--- ${node.name}: containerd\n${await node.containerd.logTail()}`;
    });
    return (await Promise.all(texts)).join('\n');
  }

  /** Resolves to what was left of the stage itself, as sentences. */
  async close(): Promise<readonly string[]> {
    this.#stopControllers();
    await Promise.all(this.nodes.map(({ agent }) => agent.stop()));
    const ended = await Promise.allSettled(this.nodes.map(({ node }) => node.stop()));
    rmSync(this.#folder, { recursive: true, force: true });
    const trouble = ended.flatMap((one) => (one.status === 'rejected' ? [`${one.reason}`] : []));
    return [...trouble, ...(await this.lab.stop())];
  }
}
