/**
 * IP addresses and prefixes as text, which is how every peer of ours (cloud, metadata, kubelet, CNI) writes them.
 *
 * Addresses are canonical strings: dotted quads, and RFC 5952 for IPv6, so that equal addresses are equal strings.
 */
import { formatIp, parseIp } from './ip-bytes.ts';

export type Family = 4 | 6;

/** A prefix such as `192.168.0.0/24`; `network` has its host bits cleared. */
export type Cidr = { readonly network: string; readonly prefix: number; readonly family: Family };

/** The canonical form of an address, or null when `text` is none (IPv4 must be a full dotted quad). */
export function canonicalIp(text: string): string | null {
  const bytes = parseIp(text);
  return bytes === null ? null : formatIp(bytes);
}

export function familyOf(ip: string): Family {
  return ip.includes(':') ? 6 : 4;
}

/** Network byte order: 4 or 16 bytes. Throws RangeError on text that is no address. */
export function ipBytes(ip: string): Uint8Array {
  const bytes = parseIp(ip);
  if (bytes === null) throw new RangeError(`not an IP address: ${ip}`);
  return bytes;
}

export function ipFromBytes(bytes: Uint8Array): string {
  return formatIp(bytes);
}

/** Parses `a.b.c.d/n` or `h:…/n`; host bits are cleared. Throws RangeError naming the text. */
export function parseCidr(text: string): Cidr {
  const [ip = '', length = '', ...rest] = text.split('/');
  const canonical = canonicalIp(ip);
  const prefix = Number(length);
  const bits = canonical !== null && familyOf(canonical) === 6 ? 128 : 32;
  if (canonical === null || rest.length > 0 || !/^\d+$/.test(length) || prefix > bits) {
    throw new RangeError(`not a prefix: ${text}`);
  }
  const family = familyOf(canonical);
  return { network: nth({ network: canonical, prefix, family }, 0n), prefix, family };
}

export function cidrText(cidr: Cidr): string {
  return `${cidr.network}/${cidr.prefix}`;
}

export function cidrContains(cidr: Cidr, ip: string): boolean {
  return familyOf(ip) === cidr.family && nth({ ...cidr, network: ip }, 0n) === cidr.network;
}

/** How many addresses the prefix spans, reserved ones included. */
export function cidrSize(cidr: Cidr): bigint {
  return 1n << BigInt((cidr.family === 4 ? 32 : 128) - cidr.prefix);
}

/** The address at `offset` from the network address; a negative offset counts from the end (-1 is the last address). */
export function addressAt(cidr: Cidr, offset: number | bigint): string {
  const size = cidrSize(cidr);
  const at = BigInt(offset) < 0n ? size + BigInt(offset) : BigInt(offset);
  if (at < 0n || at >= size) throw new RangeError(`${cidrText(cidr)} has no address ${offset}`);
  return nth(cidr, at);
}

/**
 * The gateway of a vSwitch: the third address from the end (`.253` of a /24).
 * Source: the VPC reserves the first and the last three addresses of a vSwitch.
 */
export function vSwitchGateway(cidr: Cidr): string {
  return addressAt(cidr, cidr.family === 4 ? -3 : -9);
}

function nth(cidr: Cidr, offset: bigint): string {
  const bits = cidr.family === 4 ? 32 : 128;
  const host = BigInt(bits - cidr.prefix);
  let value = 0n;
  for (const byte of ipBytes(cidr.network)) value = (value << 8n) | BigInt(byte);
  value = ((value >> host) << host) + offset;
  const bytes = new Uint8Array(bits / 8);
  for (let index = bytes.length - 1; index >= 0; index -= 1) {
    bytes[index] = Number(value & 255n);
    value >>= 8n;
  }
  return ipFromBytes(bytes);
}
