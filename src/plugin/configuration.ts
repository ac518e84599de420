/**
 * The network configuration on stdin.
 *
 * Keys are read as written: the reference's habit of taking `NAME` for `name` is Go's, not the specification's. Of a key that
 * comes twice the last counts. Keys we do not know are ignored. Source: CNI SPEC 1.1, sections 1 and 2; libcni utils.
 */
import type { EniKind } from '../adapters/datapath/eni-device.ts';
import { parseCidr } from '../core/ip.ts';
import { socketPathProblem } from '../core/limits.ts';
import { type Shaping, shapingFromBits } from '../core/shaping.ts';
import { CNI_CODE, type CniCode, CniError } from './cni-error.ts';
import { IMPLIED_VERSION } from './cni-version.ts';

export const DEFAULT_DAEMON_SOCKET = '/var/run/eni/enactor.socket';
/** Source: Terway, daemon/server. */
export const TERWAY_SOCKET = '/var/run/eni/eni.socket';
export const DEFAULT_DATA_DIR = '/var/lib/cni/enactor';

/** A configuration with its prevResult is a few kilobytes. */
export const CONFIGURATION_MAX_BYTES = 4 * 1024 * 1024;

const MTU_MIN = 576; // what every IPv4 host has to take
const MTU_MAX = 65_535;

export type Configuration = {
  readonly cniVersion: string;
  readonly name: string;
  /** null leaves it to the daemon, then to 1500. */
  readonly mtu: number | null;
  readonly daemonSocket: string;
  /** `terway`: the daemon that listens there is Terway's, and speaks gRPC. */
  readonly daemon: 'enactor' | 'terway';
  /** Which devices may be ENIs, where Terway's daemon leaves them to the plugin; as the daemon's key of this name. */
  readonly eniKinds: readonly EniKind[];
  readonly dataDir: string;
  readonly logFile: string | null;
  readonly debug: boolean;
  /** What the runtime passes of the pod's annotations, by the capability `bandwidth`. */
  readonly shaping: Shaping;
  /** Terway's `eniip_virtual_type`: pods on a shared ENI get an ipvlan slave of it, where the kernel makes such. */
  readonly ipvlan: boolean;
  /** Prefixes that a pod on the network itself reaches through the host, beside services and the node. Terway's key. */
  readonly hostStackCidrs: readonly string[];
  /** As it came; undefined when absent. */
  readonly prevResult: unknown;
  /** GC's: as it came, undefined when absent. The second key is what libcni wrote before the specification had the first. */
  readonly attachments: unknown;
};

const ENI_KINDS: readonly EniKind[] = ['device', 'veth', 'dummy'];

type Json = Readonly<Record<string, unknown>>;

/** Text that is no JSON object: CniError 6; an object that is no configuration of ours: 7, naming the key. */
export function parseConfiguration(bytes: Buffer): Configuration {
  const json = parseJsonObject(bytes);
  const cniVersion = textKey(json, 'cniVersion', CNI_CODE.decodeFailure) || IMPLIED_VERSION;
  const name = textKey(json, 'name', CNI_CODE.decodeFailure);
  if (name === '') throw invalidKey('name', 'is missing');
  if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) throw invalidKey('name', `${JSON.stringify(name)} is malformed`);
  const daemon = daemonIn(json);
  const daemonSocket = textKey(json, 'daemonSocket') || (daemon === 'terway' ? TERWAY_SOCKET : DEFAULT_DAEMON_SOCKET);
  const problem = socketPathProblem(daemonSocket);
  if (problem !== null) throw invalidKey('daemonSocket', problem);
  return {
    cniVersion,
    name,
    mtu: mtuKey(json),
    daemonSocket,
    daemon,
    eniKinds: eniKindsIn(json),
    dataDir: textKey(json, 'dataDir') || DEFAULT_DATA_DIR,
    logFile: textKey(json, 'logFile') || null,
    debug: booleanKey(json, 'debug'),
    shaping: shapingIn(json),
    ipvlan: ipvlanIn(json),
    hostStackCidrs: hostStackCidrs(json),
    prevResult: json.prevResult ?? undefined,
    attachments: json['cni.dev/valid-attachments'] ?? json['cni.dev/attachments'] ?? undefined,
  };
}

/** The version to answer in when the configuration as a whole cannot be used: whatever can be read, else ours. */
export function versionIn(bytes: Buffer, otherwise: string): string {
  try {
    const version = parseJsonObject(bytes).cniVersion;
    return typeof version === 'string' && version !== '' ? version : otherwise;
  } catch {
    return otherwise;
  }
}

function parseJsonObject(bytes: Buffer): Json {
  if (bytes.length > CONFIGURATION_MAX_BYTES) {
    throw decodeFailure(`has ${bytes.length} bytes; the limit is ${CONFIGURATION_MAX_BYTES}`);
  }
  if (bytes.length === 0) throw decodeFailure('is empty');
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw decodeFailure(`is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (value === null) return {}; // as the reference reads it: a configuration without a name
  if (typeof value !== 'object' || Array.isArray(value)) throw decodeFailure('is not a JSON object');
  return value as Json; // bytes enter here
}

function textKey(json: Json, key: string, code: CniCode = CNI_CODE.invalidConfig): string {
  const value = json[key] ?? '';
  if (typeof value !== 'string') throw new CniError(code, `network configuration: "${key}" is not a string`);
  if (value.includes('\0')) throw invalidKey(key, 'holds a NUL');
  return value;
}

function booleanKey(json: Json, key: string): boolean {
  const value = json[key] ?? false;
  if (typeof value !== 'boolean') throw invalidKey(key, 'is neither true nor false');
  return value;
}

function daemonIn(json: Json): Configuration['daemon'] {
  const daemon = textKey(json, 'daemon') || 'enactor';
  if (daemon !== 'enactor' && daemon !== 'terway')
    throw invalidKey('daemon', `is ${JSON.stringify(daemon)}; enactor and terway are supported`);
  return daemon;
}

function eniKindsIn(json: Json): readonly EniKind[] {
  const kinds = json.eni_link_kinds ?? ['device'];
  const isKind = (kind: unknown): kind is EniKind => ENI_KINDS.some((one) => one === kind);
  if (!Array.isArray(kinds) || kinds.length === 0 || !kinds.every(isKind))
    throw invalidKey('eni_link_kinds', `is no list of ${ENI_KINDS.join(', ')}`);
  return kinds;
}

/** Terway's configuration writes 0 for "the default". */
function mtuKey(json: Json): number | null {
  const value = json.mtu ?? 0;
  if (value === 0) return null;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < MTU_MIN || value > MTU_MAX) {
    throw invalidKey('mtu', `is not a whole number between ${MTU_MIN} and ${MTU_MAX}`);
  }
  return value;
}

/** `runtimeConfig.bandwidth`, in bits per second. Source: CNI CONVENTIONS, "Dynamic Plugin specific fields". */
function shapingIn(json: Json): Shaping {
  const runtime = objectKey(json, 'runtimeConfig');
  const bandwidth = objectKey(runtime, 'bandwidth', 'runtimeConfig.');
  const [ingress, egress] = ['ingressRate', 'egressRate'].map((key) => {
    const rate = bandwidth[key] ?? 0;
    if (typeof rate !== 'number' || !Number.isSafeInteger(rate) || rate < 0)
      throw invalidKey(`runtimeConfig.bandwidth.${key}`, 'is not a whole number of bits per second');
    return rate;
  });
  return shapingFromBits({ ingress: ingress ?? 0, egress: egress ?? 0 });
}

/** Written in any case, as Terway takes it. */
function ipvlanIn(json: Json): boolean {
  const type = textKey(json, 'eniip_virtual_type').toLowerCase();
  if (!['', 'veth', 'ipvlan'].includes(type))
    throw invalidKey(
      'eniip_virtual_type',
      `is ${JSON.stringify(json.eniip_virtual_type)}; Veth and IPVlan are supported`,
    );
  return type === 'ipvlan';
}

/** Source: NodeLocal DNSCache listens on this address. */
const NODE_LOCAL_DNS = '169.254.20.10/32';

function hostStackCidrs(json: Json): readonly string[] {
  const list = json.host_stack_cidrs ?? null;
  if (list === null) return [NODE_LOCAL_DNS];
  if (!Array.isArray(list)) throw invalidKey('host_stack_cidrs', 'is no list');
  for (const text of list)
    try {
      parseCidr(String(text));
    } catch {
      throw invalidKey('host_stack_cidrs', `holds ${JSON.stringify(text)}, which is no prefix`);
    }
  return list as string[];
}

function objectKey(json: Json, key: string, path = ''): Json {
  const value = json[key] ?? {};
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidKey(`${path}${key}`, 'is not a JSON object');
  return value as Json;
}

function decodeFailure(text: string): CniError {
  return new CniError(CNI_CODE.decodeFailure, `network configuration on stdin ${text}`);
}

function invalidKey(key: string, text: string): CniError {
  return new CniError(CNI_CODE.invalidConfig, `network configuration: "${key}" ${text}`);
}
