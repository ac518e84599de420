/**
 * The world of bench fleet: as many nodes as wanted on one account of one simulated cloud, on one virtual clock.
 *
 * Each node is the daemon from its actors up (`startNode`), with the product's own call turns before each call, since it is those that decide
 * how a fleet behaves. The cloud counts calls per API and calendar minute, for all nodes together, as the real one does; the minute begins
 * with the event that is measured, so that the best schedule has whole minutes.
 */
import { type NodeSystem, startNode } from '../../actors/node.ts';
import type { NodePorts } from '../../actors/ports.ts';
import { inTurn, TURNED_API, type Turns, unlessThrottled } from '../../src/adapters/ecs/in-turn.ts';
import { type CloudApi, isCloudApi } from '../../src/core/api-rates.ts';
import { defaultSettings, type Settings } from '../../src/core/settings.ts';
import { CrashDisk, crashStore } from '../../src/simulation/crash-store.ts';
import { fakeCloud } from '../../src/simulation/fake-cloud.ts';
import { FakeHost } from '../../src/simulation/fake-host.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { fakeMetadata } from '../../src/simulation/fake-metadata.ts';
import { FakeSandboxes } from '../../src/simulation/fake-sandboxes.ts';
import { Life } from '../../src/simulation/life.ts';
import { HostDevices, pluggedKernel } from '../../src/simulation/plugged-kernel.ts';
import { Seeded } from '../../src/simulation/seeded.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { VirtualCloud } from '../../src/simulation/virtual-cloud.ts';
import type { InstanceType } from '../../src/vpc/instance-types.ts';
import { VpcModel } from '../../src/vpc/model.ts';
import { defaultSettings as cloudDefaults } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { COUNTING_ENTROPY } from '../../src/vpc/world.ts';

const START_MS = 1_700_000_040_000 - (1_700_000_040_000 % 60_000);
const MINUTE_MS = 60_000;
const WIRE_MS = 2;
const SYNC_MS = 3;

export const TYPE: InstanceType = {
  instanceType: 'bench.node',
  family: 'bench',
  source: 'invented',
  cpuCores: 16,
  memoryGib: 64,
  enis: 5,
  ipv4PerEni: 30,
  ipv6PerEni: 0,
  enisInTotal: 5,
  trunk: false,
  rdmaEnis: 0,
  primaryQueues: 4,
  secondaryQueues: 4,
  totalQueues: 64,
  bandwidthKbps: 3_072_000,
};

export type FleetOptions = {
  readonly nodes: number;
  readonly settings: Partial<Settings>;
  /** Calls a minute that the account has, by API; none: no limit. */
  readonly perMinute: Readonly<Record<string, number>>;
  readonly turns: (node: { readonly index: number; readonly life: Life; readonly chance: Seeded }) => Turns;
  readonly seed: number;
};

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export class Fleet {
  readonly clock = new VirtualClock(START_MS);
  readonly cloud: VirtualCloud;
  readonly nodes: readonly FleetNode[];
  readonly #options: FleetOptions;

  constructor(options: FleetOptions) {
    this.#options = options;
    const { nodes } = options;
    const small = defaultTopology(TYPE.instanceType, nodes);
    const topology = {
      ...small,
      vpcs: small.vpcs.map((vpc) => ({ ...vpc, cidr: '10.0.0.0/8', ipv6Cidr: null })),
      vSwitches: small.vSwitches.map((one, nth) => ({ ...one, cidr: `10.${64 * nth}.0.0/10`, ipv6Cidr: null })),
      instanceTypes: [TYPE],
    };
    const model = new VpcModel({
      topology,
      nowMs: START_MS,
      settings: {
        ...cloudDefaults('realistic'),
        ...{ enisInRegion: 1_000_000, addressesInNormalGroup: 10_000_000 },
      },
      entropy: COUNTING_ENTROPY,
    });
    this.cloud = new VirtualCloud(model, this.clock);
    const plugged = new Map<string, HostDevices>();
    model.subscribe((event) => {
      if (event.type === 'attached' && !event.primary) plugged.get(event.instanceId)?.plug(event.mac);
      if (event.type === 'detached') plugged.get(event.instanceId)?.unplug(event.mac);
    });
    this.nodes = topology.instances.map(({ instanceId }, index) => {
      const node = new FleetNode(this, index, instanceId, options);
      plugged.set(instanceId, node.devices);
      return node;
    });
  }

  /** From now on the account's limits hold. */
  limit(): void {
    this.cloud.model.settings = { ...this.cloud.model.settings, throttlePerMinute: this.#options.perMinute };
  }

  /** Until the next minute of the cloud begins. */
  async untilWholeMinute(): Promise<void> {
    const now = this.clock.nowMs();
    await this.until(() => this.clock.nowMs() >= Math.ceil((now + 1) / MINUTE_MS) * MINUTE_MS);
  }

  /** Lets time go on until `met`; false: `untilMs` came first. */
  async until(met: () => boolean, untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    await settle();
    while (!met()) {
      const dueMs = this.clock.nextDueMs();
      if (dueMs === null || dueMs > untilMs) return false;
      // All of one instant, and then everything that follows from it.
      do this.clock.fireNext();
      while (this.clock.nextDueMs() === dueMs);
      await settle();
    }
    return true;
  }

  get mark(): number {
    return this.cloud.gateway.ledger.lastSeq;
  }

  /** Calls since a mark by API, those that were refused apart. */
  callsSince(mark: number): {
    readonly done: Map<string, number>;
    readonly refused: Map<string, number>;
    readonly all: number;
  } {
    const [done, refused] = [new Map<string, number>(), new Map<string, number>()];
    let all = 0;
    for (const { api, outcome } of this.cloud.gateway.ledger.read(mark, null)) {
      all += 1;
      const which = outcome.startsWith('Throttling') ? refused : done;
      which.set(api, (which.get(api) ?? 0) + 1);
    }
    return { done, refused, all };
  }
}

export class FleetNode {
  readonly devices = new HostDevices();
  readonly instanceId: string;
  readonly #fleet: Fleet;
  readonly #options: FleetOptions;
  readonly #index: number;
  readonly #disk = new CrashDisk();
  readonly chance: Seeded;
  #life: Life;
  #lives = 0;
  system: NodeSystem | null = null;
  /** Pods that have no address yet. */
  waiting = 0;

  constructor(fleet: Fleet, index: number, instanceId: string, options: FleetOptions) {
    this.#fleet = fleet;
    this.#index = index;
    this.instanceId = instanceId;
    this.#options = options;
    this.chance = new Seeded(options.seed, `fleet ${index}`);
    this.#life = new Life(0, fleet.clock);
  }

  get life(): Life {
    return this.#life;
  }

  /** The process ends as a crash does, and another begins. `serving` is called when the truth is known and the node serves. */
  start(serving: () => void): void {
    this.#life.end();
    this.#disk.crash(0);
    this.#lives += 1;
    this.waiting = 0;
    const life = new Life(this.#lives, this.#fleet.clock);
    this.#life = life;
    this.system = startNode({
      ports: this.#ports(life),
      settings: {
        ...{ ...defaultSettings, nodeName: `node-${this.#index}`, inputsMax: 0 },
        ...this.#options.settings,
      },
      clock: life.timers as unknown as NonNullable<Parameters<typeof startNode>[0]['clock']>,
    });
    void this.system.whenServing(new AbortController().signal).then(() => {
      if (!life.over) serving();
    });
  }

  /** As a runtime does: asks, and when it is refused asks anew later, until the pod has its address. */
  add(name: string, served: () => void): void {
    const life = this.#life;
    const containerId = `box-${this.#lives}-${name}`;
    const pod = { namespace: 'default', name, uid: null };
    const sandbox = { containerId, ifName: 'eth0', netns: `/run/netns/${containerId}`, network: 'enactor', pod };
    this.waiting += 1;
    const ask = async (): Promise<void> => {
      const untilMs = life.nowMs() + DEADLINE_MS;
      const end = new AbortController();
      const late = life.after(DEADLINE_MS, () => end.abort());
      try {
        await this.system?.allocator.allocate({ sandbox, untilMs }, end.signal);
        if (life.over) return;
        this.waiting -= 1;
        served();
      } catch {
        if (!life.over) life.after(this.chance.between(RETRY_MS[0], RETRY_MS[1]), () => void ask());
      } finally {
        this.#fleet.clock.cancel(late);
      }
    };
    void ask();
  }

  #ports(life: Life): NodePorts {
    const { cloud } = this.#fleet;
    const { instanceId, chance } = this;
    const turns = this.#options.turns({ index: this.#index, life, chance });
    let tokens = 0;
    return {
      cloud: fakeCloud({
        ...{ cloud, life, timeoutMs: 20_000, wireMs: () => WIRE_MS },
        around: ({ api, who, background, signal }, send) =>
          isCloudApi(api)
            ? unlessThrottled(turns, api, () => inTurn(turns, { api: api as CloudApi, who, background, signal }, send))
            : send(),
        turn: (call, who, background, signal) => turns.reserve({ api: TURNED_API[call], who, background }, signal),
      }),
      metadata: fakeMetadata({ cloud, instanceId, life, delayMs: () => WIRE_MS }),
      store: crashStore({ disk: this.#disk, life, delayMs: () => SYNC_MS }),
      kernel: pluggedKernel({ devices: this.devices, life }),
      host: new FakeHost(() => this.devices.links),
      kubernetes: new FakeKubernetes(),
      sandboxes: new FakeSandboxes(),
      clock: { nowMs: life.nowMs },
      entropy: {
        token: () => {
          tokens += 1;
          return `fleet-${this.#index}-${this.#lives}-${tokens}`;
        },
        fraction: () => chance.fraction(),
      },
      log: quiet,
    };
  }
}

/** The plugin's. */
const DEADLINE_MS = 110_000;
/** kubelet syncs a pod that failed after ten seconds and some. */
const RETRY_MS = [10_000, 15_000] as const;
