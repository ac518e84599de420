/**
 * The way back to Terway: what its daemon has to find in its database, so that it gives no address of a live pod to another one. Pure.
 *
 * Its current version, v1.2 and v1.0.10 read the same records: the older ones know an address by its item's id alone. One record is one pod; of two
 * sandboxes of a pod the younger is named, and the older one's address goes along as a second item, so that it stays taken until the pod ends.
 * What we cannot tell its daemon may have told itself: a pod that it connected, and that is as it was, goes back with the record that it came with.
 * Source: Terway, types/daemon/res.go, pkg/eni/local.go (load), daemon/daemon.go (ReleaseIP); cases/field F10.
 */

import type { Address } from './address.ts';
import { isHeldBack } from './held-back.ts';
import { HOST_VETH_PREFIX, hostVethName } from './host-veth-name.ts';
import type { EniBinding, Lease } from './lease.ts';
import type { Reservation } from './reservation.ts';
import { DEFAULT_IF_NAME, podKey, unnamedContainerId } from './sandbox.ts';
import type { TerwayRecord } from './terway-record.ts';

export type LeftToTell = {
  readonly leases: readonly Lease[];
  readonly reservations: readonly Reservation[];
  /** ENIs that reservations are on, by id: their MACs. */
  readonly macs: ReadonlyMap<string, string>;
  /** Pods that the host leads to, by device and address. */
  readonly onHost: readonly { readonly device: string; readonly ips: readonly string[] }[];
  /** What the database has now, by `namespace/name`. */
  readonly before: ReadonlyMap<string, RecordBefore>;
  readonly nowMs: number;
};

export type RecordBefore = { readonly record: TerwayRecord; readonly text: string };

export type Refusal = { readonly pod: string; readonly why: string };

export type Handover = {
  /** `namespace/name` to the JSON that its daemon reads. */
  readonly records: ReadonlyMap<string, string>;
  readonly refused: readonly Refusal[];
};

const NS_PER_MS = 1e6;

/** What a pod's record is made of, the younger sandbox first. */
type Told = { readonly leases: readonly Lease[]; readonly items: readonly object[] };

export function handover({ leases, reservations, macs, onHost, before, nowMs }: LeftToTell): Handover {
  const refused: Refusal[] = [];
  const records = new Map<string, string>();
  const byPod = new Map<string, Lease[]>();
  for (const lease of leases.toSorted((a, b) => b.boundAtMs - a.boundAtMs)) {
    const pod = podKey(lease.sandbox.pod);
    const why = whyNot(lease);
    const came = before.get(pod);
    if (came !== undefined && isWhole(came.record, lease)) records.set(pod, came.text);
    else if (why !== null) refused.push({ pod, why });
    else byPod.set(pod, [...(byPod.get(pod) ?? []), lease]);
  }
  for (const [pod, its] of byPod)
    records.set(pod, recordOf({ leases: its, items: its.map(({ grant }) => item(grant.address, grant.eni)) }));
  for (const reservation of reservations) {
    const { pod, address, eniId, untilMs } = reservation;
    if (untilMs <= nowMs || leases.some(({ grant }) => grant.address.ipv4 === address.ipv4)) continue;
    const mac = macs.get(eniId);
    // A pod that runs has its address: the one it left is of use to nobody.
    if (records.has(pod)) continue;
    if (mac === undefined)
      refused.push({
        pod,
        why: `no lease and no record tells the MAC of ${eniId}, on which ${address.ipv4} is kept for it`,
      });
    else records.set(pod, keptRecord(reservation, item(address, { eniId, mac }), nowMs));
  }
  const leased = new Set(leases.map(({ grant }) => grant.address.ipv4));
  for (const pod of onHost.filter(({ ips }) => !ips.some((ip) => leased.has(ip)))) {
    const came = [...before].find(([key, { record }]) => !records.has(key) && isOf(record, pod));
    if (came !== undefined) records.set(came[0], came[1].text);
    else {
      const why = `the host leads ${pod.ips.join(', ')} to ${pod.device}, and no lease tells whose that is`;
      refused.push({ pod: '-', why });
    }
  }
  return { records, refused };
}

/** The same ENI that Terway gave the pod to itself. Those that we gave it would take for shared ones that have lost their device. */
function isWhole({ kind, eni }: TerwayRecord, { sandbox, grant }: Lease): boolean {
  return sandbox.ownEni === true && kind === 'eni' && eni?.mac === grant.eni.mac.toLowerCase();
}

/** By the name of its device, or over a slave of an ENI that all its ipvlan pods have in common. */
function isOf({ pod, ipv4 }: TerwayRecord, { device, ips }: LeftToTell['onHost'][number]): boolean {
  const byName = hostVethName(pod, DEFAULT_IF_NAME) === device;
  return ipv4 === null ? byName : ips.includes(ipv4) && (byName || !device.startsWith(HOST_VETH_PREFIX));
}

function whyNot({ sandbox, grant }: Lease): string | null {
  if (isHeldBack(sandbox)) return `${grant.address.ipv4} is held back: nobody can tell which pod has it`;
  if (sandbox.ownEni === true)
    return 'it has an ENI of its own, which we gave it: Terway knows such pods by PodENI objects alone';
  if (sandbox.ifName !== DEFAULT_IF_NAME)
    return `Terway’s database knows ${DEFAULT_IF_NAME} alone, not ${sandbox.ifName}`;
  return null;
}

function item({ ipv4, ipv6 }: Address, { eniId, mac }: Pick<EniBinding, 'eniId' | 'mac'>): object {
  const id = `${mac.toLowerCase()}.${ipv4}${ipv6 === null ? '' : `-${ipv6}`}`;
  return { type: 'eniIp', id, eni_id: eniId, eni_mac: mac.toLowerCase(), ipv4, ipv6: ipv6 ?? '' };
}

function recordOf({ leases, items }: Told): string {
  const [lease] = leases;
  if (lease === undefined) return '';
  const { sandbox, grant, reserveMs = 0 } = lease;
  const { pod, containerId, netns } = sandbox;
  return JSON.stringify({
    Resources: items,
    PodInfo: podInfo(pod, grant.address, reserveMs),
    NetNs: netns,
    // Without one Terway compares none.
    ContainerID: containerId === unnamedContainerId(pod) ? null : containerId,
    NetConf: JSON.stringify([netConf(grant)]),
  });
}

function keptRecord({ pod: key, sandbox, address, untilMs }: Reservation, kept: object, nowMs: number): string {
  const [namespace = '', name = ''] = key.split('/');
  const [containerId = ''] = sandbox.split('/');
  const pod = { namespace, name, uid: null };
  return JSON.stringify({
    Resources: [kept],
    PodInfo: podInfo(pod, address, untilMs - nowMs),
    NetNs: null,
    ContainerID: containerId === unnamedContainerId(pod) ? null : containerId,
    NetConf: '',
  });
}

function podInfo(
  { namespace, name, uid }: Lease['sandbox']['pod'],
  { ipv4, ipv6 }: Address,
  reserveMs: number,
): object {
  return {
    Name: name,
    Namespace: namespace,
    TcIngress: 0,
    TcEgress: 0,
    PodNetworkType: 'ENIMultiIP',
    PodIP: ipv4,
    PodIPs: { IPv4: ipv4, IPv6: ipv6 ?? '' },
    SandboxExited: false,
    IPStickTime: reserveMs * NS_PER_MS,
    PodENI: false,
    PodUID: uid ?? '',
  };
}

/** As Terway's plugin gets it at DEL, to find the pod's rules by. */
function netConf({ address, eni }: Lease['grant']): object {
  const pair = (IPv4: string, IPv6: string | null): object => ({
    IPv4,
    ...(address.ipv6 !== null && IPv6 !== null && { IPv6 }),
  });
  const { cidr, gateway, ipv6Cidr, ipv6Gateway } = eni.subnet;
  return {
    BasicInfo: {
      PodIP: pair(address.ipv4, address.ipv6),
      PodCIDR: pair(cidr, ipv6Cidr),
      GatewayIP: pair(gateway, ipv6Gateway),
    },
    ENIInfo: { MAC: eni.mac.toLowerCase(), GatewayIP: pair(gateway, ipv6Gateway) },
    DefaultRoute: true,
  };
}
