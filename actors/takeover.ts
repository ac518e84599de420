/**
 * Pods that Terway gave their addresses, taken over as they run: its records tell whose each is, which the host cannot.
 *
 * A record alone is no proof. A pod is believed to have its address when the host has a device of its name that leads to this very address, and
 * the cloud has the address on the ENI that the record names; whether it still is a pod the garbage collector asks the API server, as of any. An
 * address that a record keeps for a pod without a sandbox is kept on, if the API server says that no pod uses it. Pure.
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
  readonly nowMs: number;
};

export type TakenOver = {
  /** Those of the host, with a sandbox wherever a record tells. */
  readonly pods: readonly HostPod[];
  readonly reservations: readonly Reservation[];
};

export function takeOver({ records, pods: known }: Inheritance, witnessed: Witnessed): TakenOver {
  const { enis, pods, taken, nowMs } = witnessed;
  const shared = records.filter(({ kind, ipv4 }) => kind === 'eniIp' && ipv4 !== null);
  const named = pods.map((pod) => (pod.sandbox === null ? withSandbox(pod, shared, enis, known) : pod));
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
  const { pod, netns, reserveMs } = record;
  const uid = pod.uid ?? uidOf(record, known ?? []);
  const sandbox = { containerId: containerIdOf(record), ifName: DEFAULT_IF_NAME, netns, pod: { ...pod, uid } };
  return { ...host, sandbox, ...(reserveMs > 0 && { reserveMs }) };
}

/** Of the pod that the API server knows to have this address: one of the same name may be another by now. */
function uidOf({ pod, ipv4 }: TerwayRecord, known: readonly Pod[]): string | null {
  const found = known.find((each) => podKey(each) === podKey(pod) && each.podIPs.includes(ipv4 ?? ''));
  return found?.uid ?? null;
}

const containerIdOf = ({ containerId, pod }: TerwayRecord): string => containerId || unnamedContainerId(pod);

/** The ENI that has the address, if it is the one that the record names. */
function eniOf({ ipv4, eni: told }: TerwayRecord, enis: readonly CloudEni[]): CloudEni | null {
  const eni = enis.find((each) => ipv4 !== null && each.ipv4.includes(ipv4));
  if (eni === undefined) return null;
  return told === null || told.mac === eni.mac.toLowerCase() ? eni : null;
}
