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

export type NodePlan = {
  /** ENIs beside the primary one, and the addresses they have in all: the pods that fit. */
  readonly eniMax: number;
  readonly capacity: number;
  readonly fits: boolean;
  /** What runs, what rests meanwhile, and what lies ready. */
  readonly held: number;
  readonly cooling: number;
  readonly minPool: number;
  readonly maxPool: number;
  /** ENIs for all of that. */
  readonly enis: number;
  /** The most that one node takes of its vSwitch, the primary ENI's own address included. */
  readonly addressesPerNode: number;
  readonly addresses: number;
  /** By prefix length, the smallest that holds them all; null: none of a VPC's. */
  readonly prefix: number | null;
  /** Dual stack: the pairs that fit, if fewer than IPv4 alone. */
  readonly ipv6Limits: boolean;
};

/** From its creation until the metadata service shows its addresses. Source: the realistic profile, create 0.6 s, attach 3 s, metadata 1 s. */
const ENI_OPENS_MS = 6_000;
/** Of a vSwitch the first and the last three addresses are the cloud's. Source: VPC, "vSwitches". */
const RESERVED = 4;
const PREFIXES = { largest: 16, smallest: 29 } as const;

export function nodePlan({ type, pods, churnPerMinute, burst, dual, nodes, coolDownMs }: PlanWanted): NodePlan {
  const eniMax = Math.max(0, type.enis - 1);
  const perEni = dual ? Math.min(type.ipv4PerEni, type.ipv6PerEni) : type.ipv4PerEni;
  const capacity = eniMax * perEni;
  const perMs = churnPerMinute / 60_000;
  const cooling = Math.ceil(perMs * coolDownMs);
  // What comes while one more ENI is opened is served by what lies ready.
  const ready = Math.max(1, burst, Math.ceil(perMs * ENI_OPENS_MS));
  const room = Math.max(0, capacity - pods);
  const minPool = Math.min(ready, room);
  // Pods that leave are followed by as many: what they had is not given back in between.
  const maxPool = Math.min(Math.max(minPool * 2, minPool + cooling + Math.ceil(churnPerMinute)), capacity);
  const most = Math.min(capacity, pods + Math.max(cooling, maxPool));
  const addressesPerNode = most + 1;
  const addresses = addressesPerNode * nodes;
  return {
    ...{ eniMax, capacity, fits: pods + cooling <= capacity, held: pods, cooling, minPool, maxPool },
    enis: perEni === 0 ? 0 : Math.min(eniMax, Math.ceil((pods + cooling + minPool) / perEni)),
    ...{ addressesPerNode, addresses, prefix: prefixFor(addresses) },
    ipv6Limits: dual && type.ipv6PerEni < type.ipv4PerEni,
  };
}

function prefixFor(addresses: number): number | null {
  for (let prefix: number = PREFIXES.smallest; prefix >= PREFIXES.largest; prefix -= 1)
    if (usableAddresses(prefix) >= addresses) return prefix;
  return null;
}

/** Addresses that a vSwitch of this prefix length has to give. */
export const usableAddresses = (prefix: number): number => 2 ** (32 - prefix) - RESERVED;
