/**
 * Watches one probe pass through namespaces: which device of which place it came in or went out by, and with which addresses.
 *
 * By packet sockets, so that what is told is what happened and not what the rules seem to say. Frames of all namespaces are put in order by
 * the kernel's own time stamps.
 */
import { closeSync } from 'node:fs';
import { openKoffiLibc } from '../../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../adapters/netlink/netlink.ts';
import { ipFromBytes } from '../../core/ip.ts';
import { type CapturedFrame, packetSocket, readFrame } from '../netns/libc.ts';
import type { Netns } from '../netns/netns.ts';

/** One device that a packet passed. */
export type Hop = {
  readonly place: string;
  readonly device: string;
  /** What somebody has noted on the device: on the router, the ENI's id. */
  readonly alias: string | null;
  readonly direction: 'in' | 'out';
  readonly source: string;
  readonly destination: string;
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly answer: boolean;
};

type Watched = { readonly place: string; readonly netns: Netns; readonly fd: number };

const RECEIVE_BYTES = 4 * 1024 * 1024;
const [ETHERTYPE_IPV4, ETHERTYPE_IPV6] = [0x0800, 0x86dd];
const ETHERNET_BYTES = 14;
const IPV6_BYTES = 40;
const PROTOCOL_UDP = 17;

export class PacketWatch {
  readonly #watched: Watched[] = [];

  /** Begins to watch these places. */
  constructor(places: readonly { readonly name: string; readonly netns: Netns }[]) {
    try {
      for (const { name, netns } of places)
        this.#watched.push({ place: name, netns, fd: netns.run(() => packetSocket(RECEIVE_BYTES)) });
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Where the probe of this id, and its answer, passed so far; each packet of it. */
  hops(id: number): Hop[] {
    const seen: { readonly atNs: bigint; readonly hop: Hop }[] = [];
    for (const watched of this.#watched) {
      let devices: ReadonlyMap<number, { readonly name: string; readonly alias: string | null }> | null = null;
      for (let frame = readFrame(watched.fd); frame !== null; frame = readFrame(watched.fd)) {
        const packet = packetOf(frame, id);
        if (packet === null) continue;
        devices ??= devicesOf(watched.netns);
        const device = devices.get(frame.linkIndex);
        const direction = frame.outgoing ? 'out' : 'in';
        const { name = `device ${frame.linkIndex}`, alias = null } = device ?? {};
        seen.push({ atNs: frame.atNs, hop: { place: watched.place, device: name, alias, direction, ...packet } });
      }
    }
    return seen.sort((a, b) => (a.atNs < b.atNs ? -1 : a.atNs > b.atNs ? 1 : 0)).map(({ hop }) => hop);
  }

  close(): void {
    for (const { fd } of this.#watched.splice(0)) closeSync(fd);
  }
}

function devicesOf(netns: Netns): ReadonlyMap<number, { readonly name: string; readonly alias: string | null }> {
  const netlink = new Netlink(openKoffiLibc(), netns.fd);
  try {
    return new Map(netlink.links().map(({ index, name, alias }) => [index, { name, alias }]));
  } finally {
    netlink.close();
  }
}

type Packet = Pick<Hop, 'source' | 'destination' | 'sourcePort' | 'destinationPort' | 'answer'>;

/** null for what is no probe or answer of this id. */
function packetOf({ bytes }: CapturedFrame, id: number): Packet | null {
  const probe = bytes.includes(`{"probe":${id}}`);
  const answer = !probe && bytes.includes(`{"answer":${id},`);
  if (!probe && !answer) return null;
  const addresses = addressesOf(bytes);
  if (addresses === null) return null;
  const { source, destination, udpAt } = addresses;
  return {
    source,
    destination,
    sourcePort: bytes.readUInt16BE(udpAt),
    destinationPort: bytes.readUInt16BE(udpAt + 2),
    answer,
  };
}

/** ICMP errors carry the packet that they are about: those are no probe. */
function addressesOf(bytes: Buffer): { source: string; destination: string; udpAt: number } | null {
  const ip = bytes.subarray(ETHERNET_BYTES);
  const type = bytes.readUInt16BE(ETHERNET_BYTES - 2);
  if (type === ETHERTYPE_IPV4 && ip[9] === PROTOCOL_UDP) {
    const headerBytes = ((ip[0] ?? 0) & 0x0f) * 4;
    return {
      source: ipFromBytes(ip.subarray(12, 16)),
      destination: ipFromBytes(ip.subarray(16, 20)),
      udpAt: ETHERNET_BYTES + headerBytes,
    };
  }
  if (type !== ETHERTYPE_IPV6 || ip[6] !== PROTOCOL_UDP) return null;
  return {
    source: ipFromBytes(ip.subarray(8, 24)),
    destination: ipFromBytes(ip.subarray(24, 40)),
    udpAt: ETHERNET_BYTES + IPV6_BYTES,
  };
}
