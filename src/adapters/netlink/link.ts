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
};

export type LinkChange = {
  readonly up?: boolean;
  readonly mtu?: number;
  readonly name?: string;
  readonly mac?: string;
  /** At most 255 bytes. */
  readonly alias?: string;
  /** Moves the device into that namespace. */
  readonly netnsFd?: number;
};

export type VethEnd = { readonly name: string; readonly mac: string; readonly mtu: number };

/** `peer` is made inside the namespace behind `peerNetnsFd`; both ends start down. */
export type VethPair = VethEnd & { readonly peer: VethEnd; readonly peerNetnsFd: number };
