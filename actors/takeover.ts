/**
 * Pods that Terway gave their addresses, taken over as they run: its records tell whose each is, which the host cannot.
 *
 * A record alone is no proof. A pod is believed to have its address when the host has a device of its name that leads to this very address, and
 * the cloud has the address on the ENI that the record names; whether it still is a pod the garbage collector asks the API server, as of any. An
 * address that a record keeps for a pod without a sandbox is kept on, if the API server says that no pod uses it. Pure.
 *
 * A pod that Terway gave an ENI to itself is believed by the same witnesses, and one more: the ENI's device is not on the host. What it then has is
 * what a pod of ours has in its place (own-eni.ts), so that its DEL brings the device home.
 *
 * Old versions wrote down no container id. Such a pod's sandbox has a name of our own (`unnamedContainerId`); by what its DEL is recognised, since one
 * that may be an older sandbox's must not end it, src/daemon/unnamed-sandbox.ts tells.
 * Source: cases/field P14, P15, cases/bugs B22.
 */
import type { CloudEni } from '../src/core/eni.ts';
import { hostVethName } from '../src/core/host-veth-name.ts';
import { RESERVATION_VERSION, type Reservation } from '../src/core/reservation.ts';
import { DEFAULT_IF_NAME, podKey, sandboxKey, unnamedContainerId } from '../src/core/sandbox.ts';
import type { TerwayRecord } from '../src/core/terway-record.ts';
import type { HostPod } from '../src/ports/host.ts';
import type { Pod } from '../src/ports/kubernetes.ts';
import type { Inheritance } from '../src/ports/predecessor.ts';

export type Witnessed = {
  /** Managed and attached. */
  readonly enis: readonly CloudEni[];
  readonly pods: readonly HostPod[];
  /** Addresses that somebody has by our own store. */
  readonly taken: ReadonlySet<string>;
  /** MACs of the host's devices, in lower case. */
  readonly devices: ReadonlySet<string>;
  readonly nowMs: number;
};

export type TakenOver = {
  /** Those of the host, with a sandbox wherever a record tells. */
  readonly pods: readonly HostPod[];
  readonly reservations: readonly Reservation[];
};

export function takeOver({ records, pods: known }: Inheritance, witnessed: Witnessed): TakenOver {
  const { enis, pods, taken, devices, nowMs } = witnessed;
  const shared = records.filter(({ kind, ipv4 }) => kind === 'eniIp' && ipv4 !== null);
  const whole = records.filter(({ kind }) => kind === 'eni');
  const away = enis.filter(({ mac }) => !devices.has(mac.toLowerCase()));
  const named = pods.map((pod) => {
    if (pod.sandbox !== null) return pod;
    return withOwnEni(pod, whole, away, known) ?? withSandbox(pod, shared, enis, known);
  });
  const used = new Set([...pods.flatMap(({ ips }) => ips), ...(known ?? []).flatMap(({ podIPs }) => podIPs)]);
  const kept = known === null ? [] : shared.filter(({ reserveMs }) => reserveMs > 0);
  const reservations = kept.flatMap((record): Reservation[] => {
    const { ipv4, ipv6, pod, reserveMs } = record;
    const eni = eniOf(record, enis);
    if (ipv4 === null || eni === null || used.has(ipv4) || taken.has(ipv4)) return [];
    const sandbox = sandboxKey({ containerId: containerIdOf(record), ifName: DEFAULT_IF_NAME });
    const address = { ipv4, ipv6: ipv6 !== null && eni.ipv6.includes(ipv6) ? ipv6 : null };
    const until = { untilMs: nowMs + reserveMs, coolUntilMs: nowMs };
    return [{ version: RESERVATION_VERSION, pod: podKey(pod), sandbox, address, eniId: eni.eniId, ...until }];
  });
  return { pods: named, reservations };
}

function withSandbox(
  host: HostPod,
  records: readonly TerwayRecord[],
  enis: readonly CloudEni[],
  known: Inheritance['pods'],
): HostPod {
  const record = records.find(
    ({ pod, ipv4 }) => host.ips.includes(ipv4 ?? '') && hostVethName(pod, DEFAULT_IF_NAME) === host.device,
  );
  if (record === undefined || eniOf(record, enis) === null) return host;
  const { reserveMs } = record;
  return { ...host, sandbox: sandboxOf(record, host, known), ...(reserveMs > 0 && { reserveMs }) };
}

/** Of such an ENI old records tell the MAC alone. Nothing is kept for the pod once it is gone (own-eni.ts). null: it is none. */
function withOwnEni(
  host: HostPod,
  records: readonly TerwayRecord[],
  away: readonly CloudEni[],
  known: Inheritance['pods'],
): HostPod | null {
  const record = records.find(({ pod }) => hostVethName(pod, DEFAULT_IF_NAME) === host.device);
  if (record === undefined || host.routeTable !== null) return null;
  const { eni: told, ipv4 } = record;
  const eni = away.find(({ mac }) => mac.toLowerCase() === told?.mac);
  const has = eni?.ipv4.some((ip) => host.ips.includes(ip)) === true;
  if (!has || (ipv4 !== null && !host.ips.includes(ipv4))) return null;
  return { ...host, sandbox: sandboxOf(record, host, known), ownEni: true };
}

function sandboxOf(
  record: TerwayRecord,
  { ips }: HostPod,
  known: Inheritance['pods'],
): NonNullable<HostPod['sandbox']> {
  const { pod, netns } = record;
  const uid = pod.uid ?? uidOf(pod, ips, known ?? []);
  return { containerId: containerIdOf(record), ifName: DEFAULT_IF_NAME, netns, pod: { ...pod, uid } };
}

/** Of the pod that the API server knows to have such an address: one of the same name may be another by now. */
function uidOf(pod: TerwayRecord['pod'], ips: readonly string[], known: readonly Pod[]): string | null {
  const found = known.find((each) => podKey(each) === podKey(pod) && each.podIPs.some((ip) => ips.includes(ip)));
  return found?.uid ?? null;
}

const containerIdOf = ({ containerId, pod }: TerwayRecord): string => containerId || unnamedContainerId(pod);

/** The ENI that has the address, if it is the one that the record names. */
function eniOf({ ipv4, eni: told }: TerwayRecord, enis: readonly CloudEni[]): CloudEni | null {
  const eni = enis.find((each) => ipv4 !== null && each.ipv4.includes(ipv4));
  if (eni === undefined) return null;
  return told === null || told.mac === eni.mac.toLowerCase() ? eni : null;
}
