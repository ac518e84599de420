/**
 * One node's actors over the real SDK, HTTP and the simulated cloud in its fast profile; store and kernel are the fakes of their ports.
 */
import { randomUUID } from 'node:crypto';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import { startNode } from '../../actors/node.ts';
import { ecsCloud } from '../../src/adapters/ecs/ecs-cloud.ts';
import { readOnlyCloud } from '../../src/adapters/ecs/read-only-cloud.ts';
import { type MemoryDisk, memoryStore } from '../../src/adapters/level/memory-store.ts';
import { EnactorError } from '../../src/core/errors.ts';
import type { Lease } from '../../src/core/lease.ts';
import { defaultSettings, type Settings } from '../../src/core/settings.ts';
import { type CloudOptions, type RunningCloud, runCloud } from '../../src/lab/cloud/run-cloud.ts';
import type { Cloud } from '../../src/ports/cloud.ts';
import type { Credentials } from '../../src/ports/credentials.ts';
import type { Kubernetes } from '../../src/ports/kubernetes.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Store, StoreOp, Sublevel } from '../../src/ports/store.ts';
import { FakeHost } from '../../src/simulation/fake-host.ts';
import { FakeKernel } from '../../src/simulation/fake-kernel.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { FakeSandboxes } from '../../src/simulation/fake-sandboxes.ts';
import { reachable } from '../../src/simulation/outages.ts';
import type { Settings as CloudSettings, Profile } from '../../src/vpc/settings.ts';
import { defaultTopology, type Topology } from '../../src/vpc/topology.ts';
import { ENI_FACTORY } from '../../statecharts/receptionist.ts';
import { labCredentials } from '../adapters/credentials/lab-credentials.ts';

const INSTANCE = 'i-lab-node-1';
const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };
const loud: Log = {
  debug: (fields, message) => console.error(message, JSON.stringify(fields)),
  info: (fields, message) => console.error(message, JSON.stringify(fields)),
  warn: (fields, message) => console.error(message, JSON.stringify(fields)),
  error: (fields, message) => console.error(message, JSON.stringify(fields)),
};

export type OneNode = Awaited<ReturnType<typeof oneNode>>;

/** `instanceType` ecs.g6.large: 2 ENIs of 6 IPv4; ecs.g7.large: 3 of 6; ecs.g7.xlarge: 4 of 15. All counts include the primary. */
export async function oneNode(options: {
  settings?: Partial<Settings>;
  instanceType?: string;
  cloud?: Partial<CloudSettings>;
  /** Default: the lab's with one node of `instanceType`. */
  topology?: Topology;
  profile?: Profile;
  log?: Log;
  /** Told of what XState tells of the actors. */
  inspect?: (event: InspectionEvent) => void;
  kernel?: FakeKernel;
  /** Default: knows no pod. Whoever looks for the pods of leases then finds their namespaces there yet. */
  kubernetes?: Kubernetes;
  /** One call of the cloud. */
  timeoutMs?: number;
  /** Calls per minute by API, and how long a minute lasts (default: next to nothing). */
  rateLimits?: Readonly<Record<string, number>>;
  minuteMs?: number;
  /** Default: the lab's key pair. */
  credentials?: (cloud: RunningCloud) => Credentials;
  /** How the cloud's temporary credentials are. */
  access?: Pick<CloudOptions, 'roleLifeMs' | 'oidcTrusts' | 'oidcLifeMs'>;
}) {
  const topology = options.topology ?? defaultTopology(options.instanceType ?? 'ecs.g7.large', 1);
  const { profile = 'fast', cloud: cloudSettings = {} } = options;
  const cloud = await runCloud({
    ...{ listen: '127.0.0.1:0', topology, profile, settings: cloudSettings },
    ...options.access,
  });
  const disk: MemoryDisk = new Map();
  const kernel = options.kernel ?? new FakeKernel();
  const host = new FakeHost(() => [...kernel.devices].map(([mac, { name, ifindex }]) => ({ mac, name, ifindex })));
  const kubernetes = options.kubernetes ?? new FakeKubernetes();
  const sandboxes = new FakeSandboxes();
  let settings: Settings = {
    ...defaultSettings,
    nodeName: 'node-1',
    coolDownMs: 50,
    poolPeriodMs: 1_000,
    describePeriodMs: 5,
    backoffMs: 20,
    backoffMaxMs: 200,
    holdDownMs: 300,
    attachTimeoutMs: 600,
    settleTimeoutMs: 150,
    detachTimeoutMs: 400,
    minEniAgeMs: 0,
    ...options.settings,
  };
  const start = () => {
    const endpoint = new URL(cloud.url).host;
    return startNode({
      settings,
      inspect: (event) => {
        options.inspect?.(event);
        const { actorRef } = event;
        if ('id' in actorRef && actorRef.id === ENI_FACTORY) factory = actorRef as AnyActorRef;
      },
      ports: {
        cloud: asSettings(settings)(
          ecsCloud({
            credentials: options.credentials?.(cloud) ?? labCredentials(),
            timeoutMs: options.timeoutMs ?? 5_000,
            rateLimits: options.rateLimits ?? {},
            minuteMs: options.minuteMs ?? 60,
            region: async () => topology.regionId,
            ecsEndpoint: endpoint,
            vpcEndpoint: endpoint,
            scheme: 'http',
          }),
        ),
        metadata: {
          identity: async () => {
            if (away.metadata) throw new EnactorError('metadata', 'no route to host');
            return identityOf(cloud);
          },
          enis: async () => [],
        },
        store: failing(memoryStore(disk), {
          leases: () => {
            writesToFail -= 1;
            return writesToFail >= 0;
          },
          intents: () => {
            intentsToFail -= 1;
            return intentsToFail >= 0;
          },
        }),
        kernel,
        host,
        kubernetes,
        sandboxes,
        clock: { nowMs: () => Date.now() },
        entropy: { token: () => randomUUID(), fraction: () => Math.random() },
        log: process.env.LOUD === undefined ? (options.log ?? quiet) : loud,
      },
    });
  };
  const away = { cloud: false, metadata: false };
  /** Calls that read-only mode has refused. */
  const refused: string[] = [];
  /** As the daemon does. */
  const asSettings =
    ({ readOnly }: Settings) =>
    (real: Cloud): Cloud => {
      const cloud = reachable(real, () => away.cloud);
      return readOnly ? readOnlyCloud(cloud, (what) => void refused.push(what)) : cloud;
    };
  let factory: AnyActorRef | null = null;
  let writesToFail = 0;
  let intentsToFail = 0;
  let node = start();
  const admin = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${cloud.adminUrl}/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
  };
  return {
    /** Plants a fault in the cloud (src/lab/cloud/admin.md). */
    fault: (api: string, fault: object) => admin('faults', { api, ...fault }),
    /** The next `times` calls of the API are refused with this code. */
    refuse: (api: string, code: string, times = 1) => admin('faults', { api, effect: 'fail', code, times }),
    change: (change: object) => admin('change', change),
    mend: async () => {
      await fetch(`${cloud.adminUrl}/faults`, { method: 'DELETE' });
    },
    /** The next `times` writes of leases fail; intents and inputs are written beside them. */
    failWrites: (times: number) => {
      writesToFail = times;
    },
    /** The next `times` writes of intents fail. */
    failIntents: (times: number) => {
      intentsToFail = times;
    },
    /** Sends the factory what no message of ours is: it cannot go on. */
    poison: () => factory?.send({ type: 'eniChanged' }),
    cloud,
    /** Who does not answer the node. */
    away,
    refused,
    disk,
    kernel,
    host,
    sandboxes,
    get node() {
      return node;
    },
    get settings() {
      return settings;
    },
    /** ADD for a pod of this name. */
    add: (name: string, untilMs = Date.now() + 10_000, signal = new AbortController().signal): Promise<Lease> =>
      node.allocator.allocate({ sandbox: sandbox(name), untilMs }, signal),
    del: (name: string) =>
      node.allocator.release(
        { containerId: `c-${name}`, ifName: 'eth0', pod: sandbox(name).pod, reason: 'test' },
        new AbortController().signal,
      ),
    report: () => node.introspection.report(),
    truth: () => cloud.model.truth(Date.now()).enis.filter((eni) => eni.type !== 'Primary'),
    calls: (api: string) => cloud.live.gateway.ledger.read(0, api),
    /** A new life of the daemon over the same disk, with other settings if any are given. */
    restart: async (changed: Partial<Settings> = {}) => {
      await node.stop();
      settings = { ...settings, ...changed };
      node = start();
      await node.whenServing(AbortSignal.timeout(10_000));
    },
    /** The same, not waiting for it to serve. */
    begin: async () => {
      await node.stop();
      node = start();
    },
    serving: () => node.whenServing(AbortSignal.timeout(10_000)),
    stop: async () => {
      await node.stop();
      await cloud.close();
    },
  };
}

/** `fails`: whether the next write of that sublevel does. */
function failing(store: Store, fails: Readonly<Record<'leases' | 'intents', () => boolean>>): Store {
  const about = (ops: readonly StoreOp[], name: Sublevel): boolean =>
    ops.some((op) => op.in === name && (op.type === 'put' || name === 'leases'));
  return {
    ...store,
    write: async (ops) => {
      if ((about(ops, 'leases') && fails.leases()) || (about(ops, 'intents') && fails.intents()))
        throw new EnactorError('store', 'no space left on device');
      await store.write(ops);
    },
  };
}

export const sandbox = (name: string) => ({
  containerId: `c-${name}`,
  ifName: 'eth0',
  netns: `/run/netns/${name}`,
  network: 'enactor',
  pod: { namespace: 'default', name, uid: null },
});

/** Polls until `check` holds; fails with `what` after twenty seconds, which a busy machine may need. */
export async function eventually(what: string, check: () => boolean, withinMs = 20_000): Promise<void> {
  const untilMs = Date.now() + withinMs;
  while (!check()) {
    if (Date.now() > untilMs) throw new Error(`still not so after ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function identityOf(cloud: RunningCloud) {
  const view = cloud.model.metadata(INSTANCE, Date.now());
  const truth = cloud.model.truth(Date.now());
  const instance = truth.instances.find((one) => one.instanceId === INSTANCE);
  const primary = truth.enis.find((eni) => eni.instanceId === INSTANCE && eni.type === 'Primary');
  if (view === null || instance === undefined || primary === undefined) throw new Error('the instance is not there');
  return {
    instanceId: INSTANCE,
    instanceType: instance.instanceType,
    regionId: truth.regionId,
    zoneId: instance.zoneId,
    vpcId: instance.vpcId,
    vSwitchId: primary.vSwitchId,
    primaryMac: primary.mac,
    nodeIp: primary.primaryIp,
  };
}
