/** Several daemons' actors in this process, each on its own instance of one simulated cloud, over the real SDK and HTTP. */
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import { type NodeSystem, startNode } from '../../actors/node.ts';
import { ecsCloud } from '../../src/adapters/ecs/ecs-cloud.ts';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import { metadataService } from '../../src/adapters/metadata/metadata-service.ts';
import type { Lease } from '../../src/core/lease.ts';
import type { Settings } from '../../src/core/settings.ts';
import { type RunningCloud, runCloud } from '../../src/lab/cloud/run-cloud.ts';
import type { Log } from '../../src/ports/log.ts';
import { FakeHost } from '../../src/simulation/fake-host.ts';
import { FakeKernel } from '../../src/simulation/fake-kernel.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { FakeSandboxes } from '../../src/simulation/fake-sandboxes.ts';
import type { Settings as CloudSettings } from '../../src/vpc/settings.ts';
import { defaultTopology, type Topology } from '../../src/vpc/topology.ts';
import { sandbox } from '../actors/one-node.ts';
import { labCredentials } from '../adapters/credentials/lab-credentials.ts';
import { spedSettings } from './rig.ts';
import { SPEED } from './speed.ts';

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };

export class SomeNode {
  readonly name: string;
  readonly instanceId: string;
  readonly settings: Settings;
  readonly #cloud: RunningCloud;
  readonly #disk: MemoryDisk = new Map();
  readonly #kernel = new FakeKernel();
  #system: NodeSystem | null = null;

  constructor(cloud: RunningCloud, nth: number, settings: Partial<Settings>) {
    this.name = `node-${nth}`;
    this.instanceId = `i-lab-node-${nth}`;
    this.settings = { ...spedSettings(settings), nodeName: this.name };
    this.#cloud = cloud;
  }

  get system(): NodeSystem {
    if (this.#system === null) throw new Error(`${this.name} does not run`);
    return this.#system;
  }

  start(): void {
    const { url } = this.#cloud;
    const endpoint = new URL(url).host;
    const devices = () => [...this.#kernel.devices].map(([mac, { name, ifindex }]) => ({ mac, name, ifindex }));
    this.#system = startNode({
      settings: this.settings,
      ports: {
        cloud: ecsCloud({
          ...{ credentials: labCredentials(), timeoutMs: 10_000, rateLimits: {}, minuteMs: 60_000 / SPEED },
          ...{ region: async () => 'cn-lab', ecsEndpoint: endpoint, vpcEndpoint: endpoint, scheme: 'http' },
        }),
        metadata: metadataService({ baseUrl: `${url}/metadata/${this.instanceId}`, pauseMs: 10 }),
        store: memoryStore(this.#disk),
        kernel: this.#kernel,
        host: new FakeHost(devices),
        kubernetes: new FakeKubernetes(),
        sandboxes: new FakeSandboxes(),
        clock: { nowMs: () => Date.now() },
        entropy: { token: () => randomUUID(), fraction: () => Math.random() },
        log: quiet,
      },
    });
  }

  stop = async (): Promise<void> => {
    await this.#system?.stop();
    this.#system = null;
  };

  add(pod: string, withinMs: number): Promise<Lease> {
    const request = { sandbox: sandbox(`${this.name}-${pod}`), untilMs: Date.now() + withinMs };
    return this.system.allocator.allocate(request, AbortSignal.timeout(withinMs));
  }
}

export async function severalNodes(
  t: Test,
  count: number,
  options: { settings?: Partial<Settings>; cloud?: Partial<CloudSettings>; topology?: Topology } = {},
): Promise<{ readonly cloud: RunningCloud; readonly nodes: readonly SomeNode[] }> {
  const { settings = {}, topology = defaultTopology('lab.small', count) } = options;
  const cloudSettings = { speed: SPEED, ...options.cloud };
  const cloud = await runCloud({ listen: '127.0.0.1:0', topology, profile: 'realistic', settings: cloudSettings });
  const nodes = Array.from({ length: count }, (_, index) => new SomeNode(cloud, index + 1, settings));
  t.teardown(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await cloud.close();
  });
  return { cloud, nodes };
}
