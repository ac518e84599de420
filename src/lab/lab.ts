/**
 * A VPC in a box: cloud, API server, router, nodes with their daemons, one machine elsewhere, and pods.
 *
 * Call it inside a box (src/lab/box); what it makes dies with the process at the latest. Everything but the endpoints is the
 * production's: the daemon, the SDK in it, the plugin, the kernel.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { openKoffiLibc } from '../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../adapters/netlink/netlink.ts';
import { setLink } from '../adapters/netlink/wire/link.ts';
import type { DaemonMode } from '../core/daemon-mode.ts';
import { type Family, familyOf, parseCidr, vSwitchGateway } from '../core/ip.ts';
import { groupsAccept } from '../vpc/group-policy.ts';
import type { Truth } from '../vpc/model.ts';
import type { Profile, Settings } from '../vpc/settings.ts';
import type { Topology } from '../vpc/topology.ts';
import { type ApiServer, startApiServer } from './apiserver/api-server.ts';
import type { FieldCheck } from './apiserver/request-handler.ts';
import { resourceNamed } from './apiserver/resource.ts';
import { prepareBox } from './box/inside-box.ts';
import { type Cloud, createCloud } from './cloud/run-cloud.ts';
import { Guest } from './guest/guest.ts';
import { Hypervisor } from './hypervisor/hypervisor.ts';
import { LabPod, type LabPodOptions } from './kubelet/lab-pod.ts';
import { labTopology } from './lab-topology.ts';
import { leftovers } from './leftovers.ts';
import type { Netns } from './netns/netns.ts';
import { LabNode } from './node/lab-node.ts';
import type { EchoSocket, ProbeResult } from './probe/echo-socket.ts';
import { findPrograms, type Programs } from './programs.ts';
import type { RefusedCounts } from './router/refused.ts';
import { Router } from './router/router.ts';

export type LabOptions = {
  /** Machines with a daemon; 2 if not told. Those of a given topology are the instances whose name starts with `node-`. */
  readonly nodes?: number;
  readonly instanceType?: string;
  readonly topology?: Topology;
  /** How slow the cloud is; `fast` if not told. */
  readonly profile?: Profile;
  readonly cloudSettings?: Partial<Settings>;
  /** Where pods get addresses from; ENIMultiIP if not told. In mode VPC the VPC's route table sends each node its pod CIDR. */
  readonly mode?: DaemonMode;
  /** False: none is started, and the nodes have what they find around them alone. For tests that start theirs otherwise. */
  readonly daemons?: boolean;
  /** Of the API server: see there. */
  readonly checkFields?: FieldCheck;
  /** Over the configuration file that the lab writes for its daemons. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly programs?: Programs;
  readonly podStartTimeoutMs?: number;
  /** How long a daemon may take until it serves. */
  readonly servingTimeoutMs?: number;
  /** With which devices of ENIs come; 1500 if not told, 8500 is what larger instances have. */
  readonly eniMtu?: number;
  /** Told of each step, one line each. */
  readonly say?: (line: string) => void;
  /** Ends the building, with an AbortError; once the lab is there it is ended by `stop`. */
  readonly signal?: AbortSignal;
};

/** Whoever can be probed: a pod, a node or another machine, by name. */
export type Place = { readonly name: string; readonly ips: readonly string[]; readonly echo: EchoSocket };

const NODE_NAME = /^node-/;
/** Pods, and the machines of the lab's VPC: these know the way back to a pod's own address. */
const POD_RANGE = ['10.244.0.0/16', '192.168.0.0/16', '2001:db8:244::/48', '2001:db8:0:100::/56'];
const SERVING_TIMEOUT_MS = 60_000;
const POD_START_TIMEOUT_MS = 60_000;

/** Keys of a node's configuration: short rests, so that a minute shows what an hour does. */
export const SHORT_RESTS = {
  eni_min_age: '0s',
  cool_down: '3s',
  hold_down: '10s',
  pool_period: '2s',
  describe_period: '200ms',
  backoff: '200ms',
} as const;

/** Small pools and short rests, so that things happen while one looks. */
const labConfig = {
  cluster_id: 'lab',
  security_group: 'sg-lab',
  min_pool_size: 1,
  max_pool_size: 3,
  ...SHORT_RESTS,
} as const;

export class Lab {
  readonly runDir: string;
  /** The lab's process as seen from outside the box, where its files are below /proc/<hostPid>/root. */
  readonly hostPid: number;
  readonly cloud: Cloud;
  readonly api: ApiServer;
  readonly router: Router;
  readonly hypervisor: Hypervisor;
  readonly nodes: readonly LabNode[];
  /** Machines without a daemon. */
  readonly hosts: readonly Guest[];
  readonly #edges: Guest[] = [];
  readonly #pods = new Map<string, LabPod>();
  readonly #stopping = new AbortController();
  readonly #say: (line: string) => void;
  #stopped: Promise<string[]> | null = null;

  /** Use startLab. */
  constructor(parts: LabParts) {
    this.runDir = parts.runDir;
    this.hostPid = parts.hostPid;
    this.cloud = parts.cloud;
    this.api = parts.api;
    this.router = parts.router;
    this.hypervisor = parts.hypervisor;
    this.nodes = parts.nodes;
    this.hosts = parts.hosts;
    this.#say = parts.say;
  }

  get pods(): ReadonlyMap<string, LabPod> {
    return this.#pods;
  }

  /** Takes over a machine beyond the VPC: it has a name from now on, and goes with the lab. */
  adopt(machine: Guest): void {
    this.#edges.push(machine);
  }

  /** All that `place` can tell of. */
  placeNames(): readonly string[] {
    const pods = [...this.#pods.values()].filter((pod) => pod.echo !== null).map(({ name }) => name);
    return [...pods, ...this.#machines.map(({ name }) => name)];
  }

  /** The namespace of a pod that runs, or of a machine; null for a name that is unknown. */
  netnsOf(name: string): Netns | null {
    return this.#pods.get(name)?.sandbox?.netns ?? this.#machine(name)?.netns ?? null;
  }

  node(name: string): LabNode {
    const node = this.nodes.find((one) => one.name === name);
    if (node === undefined)
      throw new Error(`no node ${name}; there are ${this.nodes.map((one) => one.name).join(', ')}`);
    return node;
  }

  /** Starts a pod on the named node, or on the one with the fewest, and resolves when it runs. Rejects when it does not start. */
  async addPod(name: string, nodeName?: string, options?: LabPodOptions): Promise<LabPod> {
    if (this.#stopping.signal.aborted) throw new Error('the lab is stopping');
    if (this.#pods.has(name) || this.#machine(name) !== null) throw new Error(`there is a ${name} already`);
    const node = nodeName === undefined ? this.#emptiestNode() : this.node(nodeName);
    const pod = new LabPod(name, node.name, options);
    this.#pods.set(name, pod);
    try {
      await node.kubelet.start(pod, this.#stopping.signal);
      return pod;
    } catch (error) {
      this.#pods.delete(name);
      throw error;
    }
  }

  /** Ends the pod and resolves when nothing of it is left. */
  async removePod(name: string): Promise<void> {
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`no pod ${name}`);
    await this.node(pod.node).kubelet.stop(pod);
    this.hypervisor.restore(attachedTo(this, this.node(pod.node).instanceId));
    this.#pods.delete(name);
  }

  /**
   * Takes a node down as a power cut does and boots it: namespaces, devices of pods, rules and sockets are gone, its ENIs come back in
   * another order, the boot id differs; the disk stays. Resolves when the daemon serves and each of its pods has a new sandbox.
   */
  async rebootNode(name: string): Promise<readonly LabPod[]> {
    if (this.#stopping.signal.aborted) throw new Error('the lab is stopping');
    const node = this.node(name);
    const pods = [...this.#pods.values()].filter((pod) => pod.node === name && pod.phase === 'running');
    await node.cutOff();
    for (const pod of pods) await node.kubelet.cutOff(pod);
    this.hypervisor.reboot(attachedTo(this, node.instanceId));
    node.startDaemon();
    const { signal } = this.#stopping;
    await Promise.all([node.whenServing(SERVING_TIMEOUT_MS, signal), node.kubelet.afterReboot(pods, signal)]);
    return pods;
  }

  /** Throws for a name that is unknown, or a pod that does not run. */
  place(name: string): Place {
    const pod = this.#pods.get(name);
    if (pod !== undefined) {
      if (pod.echo === null) throw new Error(`pod ${name} is ${pod.phase}`);
      return { name, ips: pod.ips, echo: pod.echo };
    }
    const machine = this.#machine(name);
    if (machine === null) throw new Error(`nothing is called ${name}`);
    return { name, ips: machine.ips, echo: machine.echo };
  }

  /** Sends from one place to the first address of another, of that family if one is named, and tells how it was seen. */
  async probe(from: string, to: string, timeoutMs?: number, family?: Family): Promise<ProbeResult> {
    const ip = this.place(to).ips.find((one) => family === undefined || familyOf(one) === family);
    if (ip === undefined) throw new Error(`${to} has no address${family === undefined ? '' : ` of IPv${family}`}`);
    return this.place(from).echo.probe(ip, timeoutMs);
  }

  refused(): RefusedCounts {
    return this.router.refused();
  }

  truth(): Truth {
    return this.cloud.model.truth(this.cloud.live.nowMs());
  }

  /** What went wrong with the lab itself: daemons that ended, devices that could not be plugged. */
  problems(): string[] {
    return [
      ...this.nodes.flatMap((node) => node.daemon?.problem ?? []).map((text) => text),
      ...this.hypervisor.failures.map((error) => `hypervisor: ${error.message}`),
    ];
  }

  /** Takes everything down in order and tells, as sentences, what went wrong or is left. Idempotent. */
  stop(): Promise<string[]> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<string[]> {
    this.#stopping.abort();
    const trouble: string[] = [];
    const attempt = async (what: string, work: () => Promise<unknown>) => {
      await work().catch((error: unknown) => {
        trouble.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      });
    };
    if (this.#pods.size > 0) this.#say(`removing ${this.#pods.size} pods`);
    await Promise.all([...this.#pods.keys()].map((name) => attempt(`pod ${name}`, () => this.removePod(name))));
    this.#say(`stopping ${this.nodes.length} daemons`);
    await Promise.all(this.nodes.map((node) => attempt(node.name, () => node.stop())));
    trouble.push(...this.problems());
    this.#say('taking the VPC down');
    this.cloud.stop();
    await attempt('API server', () => this.api.close());
    await Promise.all(this.#machines.map((guest) => guest.remove()));
    this.router.close();
    for (const entry of [...this.nodes.map(({ dir }) => dir), `${this.runDir}/netns`]) {
      rmSync(entry, { recursive: true, force: true });
    }
    trouble.push(...leftovers(this.runDir).map((text) => `left behind: ${text}`));
    return trouble;
  }

  #machine(name: string): Guest | null {
    return this.#machines.find((guest) => guest.name === name) ?? null;
  }

  get #machines(): readonly Guest[] {
    return [...this.nodes.map(({ guest }) => guest), ...this.hosts, ...this.#edges];
  }

  #emptiestNode(): LabNode {
    const count = (node: LabNode) => [...this.#pods.values()].filter((pod) => pod.node === node.name).length;
    const [first] = this.nodes.toSorted((a, b) => count(a) - count(b));
    if (first === undefined) throw new Error('the lab has no nodes');
    return first;
  }
}

type LabParts = Pick<Lab, 'runDir' | 'hostPid' | 'cloud' | 'api' | 'router' | 'hypervisor' | 'nodes' | 'hosts'> & {
  readonly say: (line: string) => void;
};

/**
 * Builds the lab and resolves when every daemon serves. Throws BoxError outside a box, and whatever a part met; then nothing is
 * left of what was built.
 */
export async function startLab(options: LabOptions = {}): Promise<Lab> {
  const { runDir, hostPid } = prepareBox();
  loopbackUp();
  const say = options.say ?? (() => {});
  const programs = options.programs ?? findPrograms();
  const topology = options.topology ?? labTopology(options.nodes ?? 2, options.instanceType);
  const nodes: LabNode[] = [];
  const hosts: Guest[] = [];
  const guests: Guest[] = [];
  const cloud = createCloud({
    topology,
    profile: options.profile ?? 'fast',
    ...(options.cloudSettings === undefined ? {} : { settings: options.cloudSettings }),
  });
  say(`cloud: ${topology.vSwitches.length} vSwitches, ${topology.instances.length} instances`);
  const api = await startApiServer({
    endGrace: false,
    ...(options.checkFields !== undefined && { checkFields: options.checkFields }),
  });
  const router = Router.create(`${runDir}/router`, Date.now, options.eniMtu);
  const hypervisor = new Hypervisor(
    router,
    (id) => topology.vSwitches.find(({ vSwitchId }) => vSwitchId === id) ?? null,
  );
  // A group that somebody has added since is known by what the cloud says of it.
  const groupOf = (id: string) => cloud.model.securityGroups().find((group) => group.securityGroupId === id);
  router.enforce((from, to) =>
    groupsAccept(
      from,
      to.flatMap((id) => groupOf(id) ?? []),
    ),
  );
  cloud.model.subscribe(hypervisor.listen);
  const lab = new Lab({ runDir, hostPid, cloud, api, router, hypervisor, nodes, hosts, say });
  try {
    for (const { instanceId, name } of lab.truth().instances) {
      options.signal?.throwIfAborted();
      const guest = Guest.create(name, instanceId, `${runDir}/netns/${name}`);
      guests.push(guest);
      const addresses = await admit(lab, guest, topology);
      if (!NODE_NAME.test(name)) {
        hosts.push(guest);
        continue;
      }
      const dir = `${runDir}/${name}`;
      mkdirSync(dir);
      const nodeIp = addresses[0] ?? '';
      const podCidrs = options.mode === 'VPC' ? podCidrsOf(nodes.length, options.config?.ip_stack === 'dual') : [];
      routePodCidrs(lab, instanceId, podCidrs, addresses);
      registerNode(api, name, instanceId, nodeIp, podCidrs);
      const [spec] = topology.instances.filter((one) => one.instanceId === instanceId);
      const zones = Object.fromEntries(
        topology.vSwitches
          .filter((one) => one.vSwitchId === spec?.vSwitchId)
          .map((one) => [one.zoneId, [one.vSwitchId]]),
      );
      const mode = {
        daemon_mode: options.mode ?? 'ENIMultiIP',
        ...(options.mode === 'VPC' ? { pod_range: POD_RANGE } : {}),
      };
      const config = { ...labConfig, vswitches: zones, ...mode, ...options.config };
      const podStartTimeoutMs = options.podStartTimeoutMs ?? POD_START_TIMEOUT_MS;
      nodes.push(await LabNode.create({ guest, nodeIp, dir, cloud, api, programs, config, podStartTimeoutMs }));
      say(`${name}: ${nodeIp} on ${instanceId}${options.daemons === false ? '' : ', starting its daemon'}`);
    }
    if (options.daemons === false) return lab;
    for (const node of nodes) node.startDaemon();
    await Promise.all(
      nodes.map((node) => node.whenServing(options.servingTimeoutMs ?? SERVING_TIMEOUT_MS, options.signal)),
    );
    say(`${nodes.length} daemons serve`);
    return lab;
  } catch (error) {
    await lab.stop();
    await Promise.all(guests.map((guest) => guest.remove()));
    throw error;
  }
}

/** What the hypervisor has plugged in there. */
function attachedTo(lab: Lab, instanceId: string) {
  const enis = lab.truth().enis.filter((eni) => eni.instanceId === instanceId && eni.status === 'InUse');
  return enis.map((eni) => ({ ...eni, instanceId, primary: eni.type === 'Primary' }));
}

/** Plugs the primary ENI in and configures it, as the instance's own boot would. */
async function admit(lab: Lab, guest: Guest, topology: Topology): Promise<readonly string[]> {
  const present = attachedTo(lab, guest.instanceId);
  lab.hypervisor.admit(guest.instanceId, guest.netns, present);
  const primary = present.find((eni) => eni.primary);
  const vSwitch = topology.vSwitches.find(({ vSwitchId }) => vSwitchId === primary?.vSwitchId);
  if (primary === undefined || vSwitch === undefined) throw new Error(`${guest.name} has no primary ENI`);
  const { cidr, ipv6Cidr } = vSwitch;
  await guest.boot([
    ...primary.ipv4.map((ip) => ({ ip, prefix: parseCidr(cidr).prefix, gateway: vSwitchGateway(parseCidr(cidr)) })),
    ...primary.ipv6.map((ip) => ({ ip, prefix: 128, gateway: vSwitchGateway(parseCidr(ipv6Cidr ?? cidr)) })),
  ]);
  return [...primary.ipv4, ...primary.ipv6];
}

/** Of the node so many: one prefix, or one of each family. */
function podCidrsOf(index: number, dual: boolean): readonly string[] {
  const ipv4 = `10.244.${index}.0/24`;
  return dual ? [ipv4, `2001:db8:244:${index.toString(16)}::/64`] : [ipv4];
}

/** As entries of the VPC's route table: the node's own address is the next hop. */
function routePodCidrs(lab: Lab, instanceId: string, cidrs: readonly string[], nodeIps: readonly string[]): void {
  const primary = attachedTo(lab, instanceId).find((eni) => eni.primary);
  for (const cidr of cidrs.map(parseCidr)) {
    const hop = nodeIps.find((ip) => familyOf(ip) === cidr.family);
    if (primary === undefined || hop === undefined)
      throw new Error(`${instanceId} has no address of IPv${cidr.family} that its pods could be reached by`);
    lab.router.routeTo(primary.eniId, cidr, hop);
  }
}

function registerNode(
  api: ApiServer,
  name: string,
  instanceId: string,
  nodeIp: string,
  podCIDRs: readonly string[],
): void {
  const nodes = resourceNamed('nodes');
  if (nodes === null) throw new Error('the API server of the lab knows no nodes');
  api.lifecycle.create(nodes, null, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      // As a kubelet sets them; `nodeSelector` of a manifest is about them.
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': process.arch === 'x64' ? 'amd64' : process.arch,
        'topology.kubernetes.io/zone': 'cn-lab-a',
      },
    },
    spec: {
      providerID: `cn-lab.${instanceId}`,
      ...(podCIDRs[0] === undefined ? {} : { podCIDR: podCIDRs[0], podCIDRs }),
    },
    status: {
      addresses: [
        { type: 'InternalIP', address: nodeIp },
        { type: 'Hostname', address: name },
      ],
      nodeInfo: { containerRuntimeVersion: 'enactor-lab://1', kubeletVersion: 'v1.30.0' },
    },
  });
}

/** The box's own namespace, in which cloud and API server listen, comes with `lo` down. */
function loopbackUp(): void {
  const netlink = new Netlink(openKoffiLibc());
  try {
    const link = netlink.linkByName('lo');
    if (link !== null) netlink.apply([setLink(link.index, { up: true })]);
  } finally {
    netlink.close();
  }
}
