/**
 * One cold node of the burst bench on a virtual clock: the simulated cloud and the ports of a daemon over it, with nobody behind them yet.
 *
 * Every contender gets the same node: the realistic delays, no jitter, a call 2 ms on its way, a disk that syncs in 3 ms, a device that is
 * there the moment the cloud says InUse, Terway's limits of calls a minute. What is counted is what the cloud's own ledger has.
 */
import type { NodePorts } from '../../actors/ports.ts';
import { CrashDisk, crashStore } from '../../src/simulation/crash-store.ts';
import { fakeCloud } from '../../src/simulation/fake-cloud.ts';
import { FakeHost } from '../../src/simulation/fake-host.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { fakeMetadata } from '../../src/simulation/fake-metadata.ts';
import { FakeSandboxes } from '../../src/simulation/fake-sandboxes.ts';
import { Life } from '../../src/simulation/life.ts';
import { HostDevices, pluggedKernel } from '../../src/simulation/plugged-kernel.ts';
import { settle, VirtualClock } from '../../src/simulation/virtual-clock.ts';
import { VirtualCloud } from '../../src/simulation/virtual-cloud.ts';
import type { InstanceType } from '../../src/vpc/instance-types.ts';
import { mutates, VpcModel } from '../../src/vpc/model.ts';
import type { ApiName } from '../../src/vpc/requests.ts';
import { defaultSettings } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { COUNTING_ENTROPY } from '../../src/vpc/world.ts';

/** ENIs that a node may have beside its primary one, and addresses on each. */
export type Size = { readonly enis: number; readonly ipv4PerEni: number };

/** Source: facts of Terway's own client, calls a minute. */
const CALLS_PER_MINUTE = {
  CreateNetworkInterface: 500,
  AttachNetworkInterface: 500,
  AssignPrivateIpAddresses: 400,
  DescribeNetworkInterfaces: 800,
};
const START_MS = 1_700_000_000_000;
const WIRE_MS = 2;
const SYNC_MS = 3;
const CALL_TIMEOUT_MS = 20_000;
/** Virtual; longer than anything that is waited for. */
const GIVEN_UP_AFTER_MS = 1_800_000;

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export class BurstNode {
  readonly clock = new VirtualClock(START_MS);
  readonly instanceId: string;
  readonly vSwitchId: string;
  readonly securityGroupIds: readonly string[];
  readonly size: Size;
  readonly life: Life;
  readonly ports: NodePorts;
  readonly #cloud: VirtualCloud;

  constructor(size: Size) {
    this.size = size;
    const type: InstanceType = {
      instanceType: 'bench.node',
      family: 'bench',
      source: 'invented',
      cpuCores: 16,
      memoryGib: 64,
      enis: size.enis + 1,
      ipv4PerEni: size.ipv4PerEni,
      ipv6PerEni: 0,
      enisInTotal: size.enis + 1,
      trunk: false,
      rdmaEnis: 0,
      primaryQueues: 4,
      secondaryQueues: 4,
      totalQueues: 64,
      bandwidthKbps: 3_072_000,
    };
    const topology = { ...defaultTopology(type.instanceType, 1), instanceTypes: [type] };
    const settings = { ...defaultSettings('realistic'), throttlePerMinute: CALLS_PER_MINUTE };
    const model = new VpcModel({ topology, nowMs: START_MS, settings, entropy: COUNTING_ENTROPY });
    const cloud = new VirtualCloud(model, this.clock);
    const [instance] = model.truth(START_MS).instances;
    if (instance === undefined) throw new Error('the bench has no instance');
    this.instanceId = instance.instanceId;
    this.vSwitchId = instance.vSwitchId;
    this.securityGroupIds = instance.securityGroupIds;
    const devices = new HostDevices();
    model.subscribe((event) => {
      if (event.type === 'attached' && !event.primary) devices.plug(event.mac);
      if (event.type === 'detached') devices.unplug(event.mac);
    });
    this.life = new Life(1, this.clock);
    this.#cloud = cloud;
    const { life, instanceId } = this;
    let tokens = 0;
    this.ports = {
      cloud: fakeCloud({ cloud, life, timeoutMs: CALL_TIMEOUT_MS, wireMs: () => WIRE_MS }),
      metadata: fakeMetadata({ cloud, instanceId, life, delayMs: () => WIRE_MS }),
      store: crashStore({ disk: new CrashDisk(), life, delayMs: () => SYNC_MS }),
      kernel: pluggedKernel({ devices, life }),
      host: new FakeHost(() => devices.links),
      kubernetes: new FakeKubernetes(),
      sandboxes: new FakeSandboxes(),
      clock: { nowMs: life.nowMs },
      entropy: {
        token: () => {
          tokens += 1;
          return `bench-${tokens}`;
        },
        fraction: () => 0.5,
      },
      log: quiet,
    };
  }

  /** Lets time go on until the promise has settled. Throws when that takes more than any contender may. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const end = (): void => {
      settled = true;
    };
    promise.then(end, end);
    await settle();
    const untilMs = this.clock.nowMs() + GIVEN_UP_AFTER_MS;
    while (!settled) {
      if (this.clock.nowMs() > untilMs || !this.clock.fireNext()) throw new Error('the burst never ends');
      await settle();
    }
    return await promise;
  }

  sleep(ms: number): Promise<void> {
    return this.life.promise((resolve) => void this.life.after(ms, resolve));
  }

  /** Where the ledger is now: for `callsSince`. */
  get mark(): number {
    return this.#cloud.gateway.ledger.lastSeq;
  }

  /** Calls since a mark; failed ones count. `text` tells when which of them came, those of one instant together. */
  callsSince(mark: number): { readonly mutating: number; readonly text: string } {
    const entries = this.#cloud.gateway.ledger.read(mark, null);
    const startMs = entries[0]?.atMs ?? 0;
    const groups = new Map<string, number>();
    for (const { api, atMs } of entries) {
      const key = `${((atMs - startMs) / 1000).toFixed(2)} s ${api.replace(/(NetworkInterface|PrivateIpAddresse)s?$/, '')}`;
      groups.set(key, (groups.get(key) ?? 0) + 1);
    }
    const text = [...groups].map(([key, count]) => (count === 1 ? key : `${key} x${count}`)).join(', ');
    return { mutating: entries.filter((entry) => mutates(entry.api as ApiName)).length, text };
  }
}
