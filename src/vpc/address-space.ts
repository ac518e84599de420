/**
 * The addresses of one vSwitch, of one family: which are reserved, which are taken and by whom.
 *
 * A cursor walks round the space, so that a released address is given out again as late as possible and the same calls always
 * give the same addresses; or what was released last is given out first, as where hardly any are free. IPv4: the first and the last three addresses are reserved. IPv6: the first, and the last nine,
 * among which is the gateway.
 * Source: "Plan and design a VPC": four addresses of a vSwitch are reserved by the system.
 */
import { addressAt, type Cidr, cidrContains, cidrSize, ipBytes } from '../core/ip.ts';

const RESERVED_AT_START = 1n;
const RELEASED_MAX = 64;

export class AddressSpace {
  readonly cidr: Cidr;
  readonly #taken = new Map<string, string>();
  readonly #end: bigint;
  #cursor = RESERVED_AT_START;
  /** Lately, the last one at the end. */
  #released: readonly string[] = [];

  constructor(cidr: Cidr) {
    this.cidr = cidr;
    this.#end = cidrSize(cidr) - (cidr.family === 4 ? 3n : 9n);
  }

  get free(): number {
    const usable = this.#end - RESERVED_AT_START - BigInt(this.#taken.size);
    return usable > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Math.max(0, Number(usable));
  }

  /** Whether `ip` belongs to the space and is none of the reserved addresses. */
  usable(ip: string): boolean {
    if (!cidrContains(this.cidr, ip)) return false;
    const offset = numberOf(ip) - numberOf(this.cidr.network);
    return offset >= RESERVED_AT_START && offset < this.#end;
  }

  holder(ip: string): string | null {
    return this.#taken.get(ip) ?? null;
  }

  take(ip: string, holder: string): void {
    this.#taken.set(ip, holder);
  }

  /** The next free address, or null when there is none. Does not take it. */
  next(but: ReadonlySet<string>, reuse: 'late' | 'soon' = 'late'): string | null {
    const last = reuse === 'soon' ? this.#released.findLast((ip) => !this.#taken.has(ip) && !but.has(ip)) : undefined;
    if (last !== undefined) return last;
    for (let tried = 0n; tried < this.#end; tried += 1n) {
      if (this.#cursor >= this.#end) this.#cursor = RESERVED_AT_START;
      const ip = addressAt(this.cidr, this.#cursor);
      this.#cursor += 1n;
      if (!this.#taken.has(ip) && !but.has(ip)) return ip;
    }
    return null;
  }

  release(ip: string): void {
    this.#taken.delete(ip);
    this.#released = [...this.#released.filter((other) => other !== ip).slice(1 - RELEASED_MAX), ip];
  }
}

function numberOf(ip: string): bigint {
  return ipBytes(ip).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
