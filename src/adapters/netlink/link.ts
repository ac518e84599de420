/** A network device. */
export type Link = {
  readonly index: number;
  readonly name: string;
  /** null for devices that have none (a tunnel). */
  readonly mac: string | null;
  readonly mtu: number;
  /** Administratively up (IFF_UP). */
  readonly up: boolean;
  readonly loopback: boolean;
  /** `veth`, `bridge`, …; null for a physical or virtio device. */
  readonly kind: string | null;
  /** Index of a veth's other end, in its own namespace. */
  readonly peerIndex: number | null;
  readonly alias: string | null;
  /** A number that devices may share, 0 where nobody has said one; rules of nf_tables can ask for it. */
  readonly group: number;
};

export type LinkChange = {
  readonly up?: boolean;
  readonly mtu?: number;
  readonly name?: string;
  readonly mac?: string;
  /** At most 255 bytes. */
  readonly alias?: string;
  readonly group?: number;
  /** Settings of IPv4 on the device (/proc/sys/net/ipv4/conf). */
  readonly ipv4?: { readonly forwarding: boolean; readonly rpFilter: number };
  /** Moves the device into that namespace. */
  readonly netnsFd?: number;
};

export type VethEnd = { readonly name: string; readonly mac: string; readonly mtu: number };

/** `peer` is made inside the namespace behind `peerNetnsFd`; both ends start down. */
export type VethPair = VethEnd & { readonly peer: VethEnd; readonly peerNetnsFd: number };

/** A slave of `masterIndex`, mode L2, made inside the namespace behind `netnsFd` (null: the caller's). It starts down and has its master's MAC. */
export type NewIpvlan = {
  readonly name: string;
  readonly mtu: number;
  readonly masterIndex: number;
  readonly netnsFd: number | null;
};
