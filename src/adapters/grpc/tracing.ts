/**
 * The node as Terway's tracing service tells it: resources by type and name, each with its configuration and its trace as keys and
 * values, in Terway's words. The types are those of its HEAD (network_service) and of v1.2 (resource_pool, factory), since people's scripts
 * know either.
 * Source: Terway daemon/daemon.go, pkg/pool and daemon/eni-multi-ip.go, Config and Trace, as told in their behaviour.
 */
import type { Lease } from '../../core/lease.ts';
import type { KeyValue, ResourceDBEntry, ResourceMapping, ResourceMappingReply } from '../../core/tracing.ts';
import type { EniReport, NodeReport } from '../../ports/introspection.ts';

export type TracingParts = {
  /** null while there are no actors. */
  readonly report: () => NodeReport | null;
  readonly configPath: string;
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

export function tracingOver({ report, configPath }: TracingParts): Tracing {
  const resources: Readonly<Record<string, Readonly<Record<string, Resource>>>> = {
    network_service: { default: networkService(configPath) },
    resource_pool: { eniip: resourcePool },
    factory: { eniip: factory },
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

function networkService(configPath: string): Resource {
  return {
    config: () => ({ name: 'default', daemon_mode: 'ENIMultiIP', config_file_path: configPath }),
    trace: ({ leases, waiting, enis }) => {
      const atEnis = enis.reduce((sum, eni) => sum + eni.waiting, 0);
      const pods = leases.map((lease) => [`pods/${nameOf(lease)}/resources`, `(eniIp)${resourceIdOf(lease)}`]);
      return { pending_pods_count: String(waiting.length + atEnis), ...Object.fromEntries(pods) };
    },
    commands: {
      mapping: (report) => `${JSON.stringify(mappingOf(report).info ?? [])}\n`,
      resdb: (report) => `${JSON.stringify(mappingOf(report).resource_db ?? [])}\n`,
    },
  };
}

const resourcePool: Resource = {
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
  commands: { mapping: (report) => `${JSON.stringify(mappingOf(report).info ?? [])}\n` },
};

const factory: Resource = {
  config: ({ pool, enis }) => ({
    name: 'eniip',
    eni_max_ip: String(Math.max(pool?.capacity ?? 0, ...enis.map(({ addresses }) => addresses.length))),
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
    mapping: (report) => `${JSON.stringify(mappingOf(report).info ?? [])}\n`,
    audit: ({ enis, invalidLeases = [] }) => {
      const lost = enis.flatMap(({ addresses }) => addresses.filter(({ state }) => state === 'invalid'));
      const lines = [...lost.map(({ ipv4 }) => ipv4), ...invalidLeases.map(({ grant }) => grant.address.ipv4)];
      return lines.length === 0 ? 'no address is missing in the cloud\n' : `${lines.join('\n')}\n`;
    },
  },
};

const nameOf = ({ sandbox: { pod } }: Lease): string => `${pod.namespace}/${pod.name}`;
/** `<mac>.<ip>` */
const resourceIdOf = ({ grant: { address, eni } }: Lease): string => `${eni.mac}.${address.ipv4}`;

function idsIn(enis: readonly EniReport[], states: readonly string[]): string[] {
  return enis.flatMap(({ mac, addresses }) =>
    addresses.filter(({ state }) => states.includes(state)).map(({ ipv4 }) => `${mac ?? ''}.${ipv4}`),
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
    resource_db: leases.map(
      ({ sandbox: { pod }, grant: { address, eni } }): ResourceDBEntry => ({
        ...{ pod_name: pod.name, pod_namespace: pod.namespace, eni_id: eni.eniId, eni_mac: eni.mac },
        ...{ ipv4: address.ipv4, ipv6: address.ipv6 ?? '', type: 'eniIp' },
      }),
    ),
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
