/** An address on a device. */
export type Addr = {
  readonly linkIndex: number;
  readonly ip: string;
  readonly prefix: number;
  /** `global` 0, `link` 253, `host` 254. */
  readonly scope: number;
  /** It has a lifetime: a DHCP client or a router's advertisement put it there. */
  readonly dynamic: boolean;
};

/**
 * `noDad`: usable at once, without asking the link whether someone else has it (IPv6 only). `scope` is global if not told;
 * an address that must never be picked as a source for others is `host`.
 */
export type NewAddr = Omit<Addr, 'scope' | 'dynamic'> & { readonly noDad?: boolean; readonly scope?: number };
