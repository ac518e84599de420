/**
 * What a node needs that is to run so many pods: ENIs, water marks, addresses of its vSwitches. Pure arithmetic of what the actors do, for
 * whoever sizes a cluster; nothing here is read by a running daemon.
 */

export type PlanType = { readonly enis: number; readonly ipv4PerEni: number; readonly ipv6PerEni: number };

export type PlanWanted = {
  readonly type: PlanType;
  /** On one node at a time. */
  readonly pods: number;
  /** Pods that come in a minute on one node, as many going. */
  readonly churnPerMinute: number;
  /** Pods that come at one moment. */
  readonly burst: number;
  readonly dual: boolean;
  readonly nodes: number;
  /** How long an address that was given back rests. */
  readonly coolDownMs: number;
};

/** What fits, and what it takes if what is wanted does: of a node that cannot be there are no sizes. */
export type NodePlan = Room & ({ readonly fits: false } | (Sizes & { readonly fits: true }));

type Room = {
  /** ENIs beside the primary one, their addresses each (dual stack: pairs) and in all. */
  readonly eniMax: number;
  readonly perEni: number;
  readonly capacity: number;
  /** The pods that fit: all addresses but those that rest. */
  readonly podsMax: number;
  /** What runs, and what rests meanwhile. */
  readonly held: number;
  readonly cooling: number;
  /** Dual stack: the pairs that fit, if fewer than IPv4 alone. */
  readonly ipv6Limits: boolean;
};

type Sizes = {
  /** What lies ready beside the pods; no mark is more than the instance type has addresses left. */
  readonly minPool: number;
  readonly maxPool: number;
  /** ENIs for all of that. */
  readonly enis: number;
  /** The most that one node takes of its vSwitch, the primary ENI's own address included. */
  readonly addressesPerNode: number;
  readonly addresses: number;
  /** By prefix length, the smallest that holds them all; null: none of a VPC's. */
  readonly prefix: number | null;
};

/** From its creation until the metadata service shows its addresses. Source: the realistic profile, create 0.6 s, attach 3 s, metadata 1 s. */
const ENI_OPENS_MS = 6_000;
/** Of a vSwitch the first and the last three addresses are the cloud's. Source: VPC, "vSwitches". */
const RESERVED = 4;
const PREFIXES = { largest: 16, smallest: 29 } as const;

export function nodePlan(wanted: PlanWanted): NodePlan {
  const room = roomOf(wanted);
  return room.held > room.podsMax ? { ...room, fits: false } : { ...room, fits: true, ...sizesOf(wanted, room) };
}

function roomOf({ type, pods, churnPerMinute, dual, coolDownMs }: PlanWanted): Room {
  const eniMax = Math.max(0, type.enis - 1);
  const perEni = dual ? Math.min(type.ipv4PerEni, type.ipv6PerEni) : type.ipv4PerEni;
  const capacity = eniMax * perEni;
  const cooling = Math.ceil((churnPerMinute / 60_000) * coolDownMs);
  return {
    ...{ eniMax, perEni, capacity, podsMax: Math.max(0, capacity - cooling), held: pods, cooling },
    ipv6Limits: dual && type.ipv6PerEni < type.ipv4PerEni,
  };
}

function sizesOf(
  { churnPerMinute, burst, nodes }: PlanWanted,
  { eniMax, perEni, capacity, held, cooling }: Room,
): Sizes {
  // What comes while one more ENI is opened is served by what lies ready.
  const ready = Math.max(1, burst, Math.ceil((churnPerMinute / 60_000) * ENI_OPENS_MS));
  const left = capacity - held;
  const minPool = Math.min(ready, left);
  // Pods that leave are followed by as many: what they had is not given back in between.
  const maxPool = Math.min(Math.max(minPool * 2, minPool + cooling + Math.ceil(churnPerMinute)), left);
  const addressesPerNode = held + Math.max(cooling, maxPool) + 1;
  const addresses = addressesPerNode * nodes;
  return {
    ...{ minPool, maxPool, enis: Math.min(eniMax, Math.ceil((held + cooling + minPool) / perEni)) },
    ...{ addressesPerNode, addresses, prefix: prefixFor(addresses) },
  };
}

function prefixFor(addresses: number): number | null {
  for (let prefix: number = PREFIXES.smallest; prefix >= PREFIXES.largest; prefix -= 1)
    if (usableAddresses(prefix) >= addresses) return prefix;
  return null;
}

/** Addresses that a vSwitch of this prefix length has to give. */
export const usableAddresses = (prefix: number): number => 2 ** (32 - prefix) - RESERVED;
