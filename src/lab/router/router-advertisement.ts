/**
 * A router advertisement as a frame: from the fabric's link-local address to all nodes, with a lifetime as a default router and nothing else.
 * Source: RFC 4861, 4.2; RFC 2464 (multicast on Ethernet, link-local address of a MAC).
 */
import { ipBytes } from '../../core/ip.ts';

const ALL_NODES = 'ff02::1';
const ALL_NODES_MAC = '33:33:00:00:00:01';
const ETHERTYPE_IPV6 = 0x86dd;
const ICMPV6 = 58;
const ROUTER_ADVERTISEMENT = 134;
const HOP_LIMIT = 255;

export function routerAdvertisement(mac: string, lifetimeS: number): Buffer {
  const message = Buffer.alloc(16);
  message.writeUInt8(ROUTER_ADVERTISEMENT, 0);
  message.writeUInt8(64, 4); // hop limit that hosts are to use
  message.writeUInt16BE(lifetimeS, 6);
  const [source, destination] = [ipBytes(linkLocalOf(mac)), ipBytes(ALL_NODES)];
  message.writeUInt16BE(checksum(pseudoHeader(source, destination, message.length), message), 2);
  const header = Buffer.alloc(8);
  header.writeUInt32BE(0x60000000, 0);
  header.writeUInt16BE(message.length, 4);
  header.writeUInt8(ICMPV6, 6);
  header.writeUInt8(HOP_LIMIT, 7);
  const ethernet = Buffer.concat([
    macBytes(ALL_NODES_MAC),
    macBytes(mac),
    Buffer.from([ETHERTYPE_IPV6 >> 8, ETHERTYPE_IPV6 & 0xff]),
  ]);
  return Buffer.concat([ethernet, header, source, destination, message]);
}

/** fe80:: with the MAC spread out, its universal bit turned over. */
export function linkLocalOf(mac: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = macBytes(mac);
  const groups = [(a ^ 2) * 256 + b, c * 256 + 0xff, 0xfe00 + d, e * 256 + f];
  return `fe80::${groups.map((group) => group.toString(16)).join(':')}`;
}

function macBytes(mac: string): Buffer {
  return Buffer.from(mac.split(':').map((part) => Number.parseInt(part, 16)));
}

function pseudoHeader(source: Uint8Array, destination: Uint8Array, length: number): Buffer {
  const rest = Buffer.alloc(8);
  rest.writeUInt32BE(length, 0);
  rest.writeUInt8(ICMPV6, 7);
  return Buffer.concat([source, destination, rest]);
}

function checksum(...parts: readonly Buffer[]): number {
  const bytes = Buffer.concat(parts);
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 2) sum += bytes.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}
