/**
 * The node as Terway's tracing service tells it: resources by type and name, each with its configuration and its trace as keys and
 * values, in Terway's words. The types are those of its HEAD (network_service) and of v1.2 (resource_pool, factory), since people's scripts
 * know either.
 * Source: Terway daemon/daemon.go, pkg/pool and daemon/eni-multi-ip.go, Config and Trace, as told in their behaviour.
 */
import type { DaemonMode } from '../../core/daemon-mode.ts';
import type { Lease } from '../../core/lease.ts';
import { kindOf } from '../../core/own-eni.ts';
import type { KeyValue, ResourceDBEntry, ResourceMapping, ResourceMappingReply } from '../../core/tracing.ts';
import type { VSwitchPolicy } from '../../core/vswitch-choice.ts';
import type { EniReport, NodeReport } from '../../ports/introspection.ts';

export type TracingParts = {
  /** null while there are no actors. */
  readonly report: () => NodeReport | null;
  readonly configPath: string;
  /** null: the service account of the pod. */
  readonly kubeconfig?: string | null;
  /** As the configuration has them now. */
  readonly now?: () => { readonly mode: DaemonMode; readonly vSwitchPolicy: VSwitchPolicy };
};

export interface Tracing {
  types(): readonly string[];
  /** Empty for a type that is not known. */
  names(type: string): readonly string[];
  /** These three throw Error with Terway's own text for what is not known. */
  config(type: string, name: string): readonly KeyValue[];
  trace(type: string, name: string): readonly KeyValue[];
  execute(type: string, name: string, command: string): readonly string[];
  mapping(): ResourceMappingReply;
}

type Resource = {
  readonly config: (report: NodeReport) => Readonly<Record<string, string>>;
  readonly trace: (report: NodeReport) => Readonly<Record<string, string>>;
  readonly commands: Readonly<Record<string, (report: NodeReport) => string>>;
};

const nothing: NodeReport = {
  state: 'starting',
  missing: [],
  enis: [],
  pool: null,
  leases: [],
  waiting: [],
  actors: [],
};

const byDefault = { mode: 'ENIMultiIP', vSwitchPolicy: 'random' } as const;

export function tracingOver(parts: TracingParts): Tracing {
  const { report, now: configured = () => byDefault } = parts;
  const resources: Readonly<Record<string, Readonly<Record<string, Resource>>>> = {
    network_service: { default: networkService(parts, () => configured().mode) },
    resource_pool: { eniip: addressPool, eni: eniPool },
    factory: { eniip: addressFactory, eni: eniFactory(() => configured().vSwitchPolicy) },
  };
  const now = (): NodeReport => report() ?? nothing;
  const found = (type: string, name: string): Resource => {
    const ofType = Object.hasOwn(resources, type) ? resources[type] : undefined;
    if (ofType === undefined) throw new Error(`tracer type ${type} not found`);
    const resource = Object.hasOwn(ofType, name) ? ofType[name] : undefined;
    if (resource === undefined) throw new Error(`tracer name ${name} of type ${type} not found`);
    return resource;
  };
  return {
    types: () => Object.keys(resources),
    names: (type) => (Object.hasOwn(resources, type) ? Object.keys(resources[type] ?? {}) : []),
    config: (type, name) => entries(found(type, name).config(now())),
    trace: (type, name) => entries(found(type, name).trace(now())),
    execute: (type, name, command) => {
      const { commands } = found(type, name);
      const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
      return [run === undefined ? "can't recognize command\n" : run(now())];
    },
    mapping: () => mappingOf(now()),
  };
}

const entries = (values: Readonly<Record<string, string>>): readonly KeyValue[] =>
  Object.entries(values).map(([Key, Value]) => ({ Key, Value }));

/** `kubeconfig` and `master` are v1.2's; there is no master but what the kubeconfig names. */
function networkService({ configPath, kubeconfig }: TracingParts, mode: () => DaemonMode): Resource {
  return {
    config: () => ({
      ...{ name: 'default', daemon_mode: mode(), config_file_path: configPath },
      ...{ kubeconfig: kubeconfig ?? '', master: '' },
    }),
    trace: ({ leases, waiting, enis, store }) => {
      const atEnis = enis.reduce((sum, eni) => sum + eni.waiting, 0);
      const pods: Record<string, string> = {};
      for (const lease of leases) {
        const key = `pods/${nameOf(lease)}/resources`;
        pods[key] = [pods[key] ?? '', `(${typeOf(lease)})${resourceIdOf(lease)}`].join(' ').trim();
      }
      const failing = store?.failing ?? null;
      return {
        pending_pods_count: String(waiting.length + atEnis),
        ...pods,
        ...(failing === null ? {} : { error: failing.why }),
      };
    },
    commands: {
      mapping,
      resdb: (report) => `${JSON.stringify(mappingOf(report).resource_db ?? [])}\n`,
    },
  };
}

/** Addresses of ENIs that pods share. */
const addressPool: Resource = {
  config: ({ pool }) => ({
    name: 'eniip',
    max_idle: String(pool?.maxIdle ?? 0),
    min_idle: String(pool?.minIdle ?? 0),
    capacity: String(pool?.capacity ?? 0),
  }),
  trace: ({ enis }) => ({
    idle: idsIn(enis, ['idle', 'cooling', 'reserved']).join(', '),
    inuse: idsIn(enis, ['bound', 'offered']).join(', '),
  }),
  commands: { mapping },
};

/** ENIs that a pod has for itself, or could have: those of which nobody has an address. Ids are MACs, as Terway's are. */
const eniPool: Resource = {
  config: ({ limits }) => ({ name: 'eni', max_idle: '0', min_idle: '0', capacity: String(limits?.enis ?? 0) }),
  trace: ({ enis }) => {
    const macsOf = (all: readonly EniReport[]): string => all.map(({ mac }) => mac ?? '').join(', ');
    const whole = (eni: EniReport): boolean =>
      eni.addresses.length > 0 && eni.addresses.every(({ state }) => state === 'idle');
    return { idle: macsOf(enis.filter(whole)), inuse: macsOf(enis.filter(isOwn)) };
  },
  commands: { mapping },
};

const isOwn = ({ addresses }: EniReport): boolean => addresses.some(({ ownEni }) => ownEni === true);

/** What the node knows of its vSwitches is as old as its last look, and nothing ends it before the next. */
const eniFactory = (vSwitchPolicy: () => VSwitchPolicy): Resource => ({
  config: ({ vSwitches = [] }) => ({
    name: 'eni',
    vswitches: vSwitches.map(({ vSwitchId }) => vSwitchId).join(' '),
    vswitch_selection_policy: vSwitchPolicy(),
  }),
  trace: ({ vSwitches = [] }) => ({
    cache_expire_at: goTime(null).slice(0, 19),
    ...Object.fromEntries(
      vSwitches.flatMap(({ vSwitchId, free }) =>
        free === null ? [] : [[`vswitch/${vSwitchId}/ip_count`, String(free)]],
      ),
    ),
  }),
  commands: { mapping },
});

const addressFactory: Resource = {
  config: ({ limits, enis }) => ({
    name: 'eniip',
    eni_max_ip: String(limits?.ipsPerEni ?? Math.max(0, ...enis.map(({ addresses }) => addresses.length))),
  }),
  trace: ({ enis }) => ({
    eni_count: String(enis.length),
    secondary_ip_count: String(enis.reduce((sum, { addresses }) => sum + addresses.length, 0)),
    ...Object.fromEntries(
      enis.flatMap((eni) => {
        const start = `eni/${eni.mac ?? eni.actor}`;
        return [
          [`${start}/pending`, String(eni.waiting)],
          [`${start}/secondary_ips`, eni.addresses.map(({ ipv4 }) => ipv4).join(', ')],
          [`${start}/ip_alloc_inhibit_expire_at`, goTime(eni.heldUntilMs ?? null).slice(0, 19)],
        ];
      }),
    ),
  }),
  commands: {
    mapping,
    audit: ({ enis, invalidLeases = [] }) => {
      const lost = enis.flatMap(({ addresses }) => addresses.filter(({ state }) => state === 'invalid'));
      const lines = [...lost.map(({ ipv4 }) => ipv4), ...invalidLeases.map(({ grant }) => grant.address.ipv4)];
      return lines.length === 0 ? 'no address is missing in the cloud\n' : `${lines.join('\n')}\n`;
    },
  },
};

const nameOf = ({ sandbox: { pod } }: Lease): string => `${pod.namespace}/${pod.name}`;
/** Terway's words for an address of a shared ENI, and for an ENI of the pod's own. */
const typeOf = ({ sandbox }: Lease): 'eni' | 'eniIp' => (kindOf(sandbox) === 'own' ? 'eni' : 'eniIp');
/** `<mac>.<ipv4>[-<ipv6>]`; of an ENI of the pod's own `<mac>`. */
const resourceIdOf = (lease: Lease): string => {
  const { address, eni } = lease.grant;
  if (typeOf(lease) === 'eni') return eni.mac;
  return `${eni.mac}.${address.ipv4}${address.ipv6 === null ? '' : `-${address.ipv6}`}`;
};

function mapping(report: NodeReport): string {
  return `${JSON.stringify(mappingOf(report).info ?? [])}\n`;
}

function idsIn(enis: readonly EniReport[], states: readonly string[]): string[] {
  return enis.flatMap(({ mac, addresses }) =>
    addresses
      .filter(({ state, ownEni }) => states.includes(state) && ownEni !== true)
      .map(({ ipv4, ipv6 }) => `${mac ?? ''}.${ipv4}${ipv6 === null ? '' : `-${ipv6}`}`),
  );
}

function mappingOf({ enis, leases }: NodeReport): ResourceMappingReply {
  return {
    info: enis.map(
      (eni): ResourceMapping => ({
        NetworkInterfaceID: eni.eniId ?? '',
        MAC: eni.mac ?? '',
        Type: 'secondary',
        AllocInhibitExpireAt: goTime(eni.heldUntilMs ?? null),
        Status: statusOf(eni.state),
        Info: infoOf(eni),
      }),
    ),
    resource_db: leases.map((lease): ResourceDBEntry => {
      const { pod } = lease.sandbox;
      const { address, eni } = lease.grant;
      return {
        ...{ pod_name: pod.name, pod_namespace: pod.namespace, eni_id: eni.eniId, eni_mac: eni.mac },
        ...{ ipv4: address.ipv4, ipv6: address.ipv6 ?? '', type: typeOf(lease) },
      };
    }),
  };
}

/** Address, pod and status joined by two blanks; by address as text, the last first, both families after each other. */
function infoOf({ addresses }: EniReport): readonly string[] {
  const line = (ip: string, { state, pod }: EniReport['addresses'][number]): string => {
    const status = state === 'invalid' ? 'Invalid' : state === 'leaving' ? 'Deleting' : 'Valid';
    return [ip, pod ?? '', status].join('  ');
  };
  const ofFamily = (ips: readonly [string, EniReport['addresses'][number]][]): string[] =>
    [...ips].sort(([a], [b]) => (a < b ? 1 : -1)).map(([ip, address]) => line(ip, address));
  return [
    ...ofFamily(addresses.map((address) => [address.ipv4, address])),
    ...ofFamily(
      addresses
        .flatMap((address) => (address.ipv6 === null ? [] : [[address.ipv6, address] as const]))
        .map(([ip, address]) => [ip, address]),
    ),
  ];
}

/** Terway's four words for the life of an ENI. */
function statusOf(state: string): string {
  const [phase = ''] = state.split('.');
  if (phase === 'inUse') return 'InUse';
  if (['creating', 'attaching', 'settling', 'appearing'].includes(phase)) return 'Creating';
  return phase === '' ? 'Init' : 'Deleting';
}

/** As Go prints a time; null as its zero time. */
function goTime(atMs: number | null): string {
  if (atMs === null) return '0001-01-01 00:00:00 +0000 UTC';
  return `${new Date(atMs).toISOString().replace('T', ' ').slice(0, 19)} +0000 UTC`;
}
