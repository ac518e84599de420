/** One probe from a place to a place, an address or a service, with every device that it passed on its way and back. */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalIp, type Family, familyOf } from '../../core/ip.ts';
import type { Lab } from '../lab.ts';
import { ask } from '../probe/ask.ts';
import { ECHO_PORT, type ProbeResult } from '../probe/echo-socket.ts';
import { type Hop, PacketWatch } from '../probe/packet-watch.ts';
import { servicesOf, slicesOf } from '../services/publish-service.ts';
import { servicePorts } from '../services/service-port.ts';

export type TraceWanted = {
  readonly from: string;
  /** The name of a place or a service, an address, or `ADDRESS:PORT` (`[ADDRESS]:PORT` for IPv6). */
  readonly to: string;
  /** IPv4 if not told, or that of the address. */
  readonly family?: Family;
  readonly timeoutMs?: number;
};

export type Trace = {
  readonly from: string;
  readonly address: string;
  readonly port: number;
  readonly hops: readonly Hop[];
  readonly result: ProbeResult;
};

/** Small enough to be written without an exponent, large enough to be no other probe's. */
const ID_MAX = 2 ** 40;
const TIMEOUT_MS = 2_000;
/** The kernel begins to stamp frames a moment after it was asked to. */
const STAMPS_MS = 100;

/** Throws for a place or a target that is not known. */
export async function tracePath(lab: Lab, wanted: TraceWanted): Promise<Trace> {
  const { from, to, family = familyOf(canonicalIp(to) ?? '127.0.0.1'), timeoutMs = TIMEOUT_MS } = wanted;
  const netns = lab.netnsOf(from);
  if (netns === null) throw new Error(`nothing that runs is called ${from}`);
  const { address, port } = targetOf(lab, to, family);
  const places = lab.placeNames().flatMap((name) => {
    const found = lab.netnsOf(name);
    return found === null ? [] : [{ name, netns: found }];
  });
  const watch = new PacketWatch([...places, { name: 'router', netns: lab.router.netns }]);
  try {
    await sleep(STAMPS_MS);
    const id = randomInt(ID_MAX / 2, ID_MAX);
    const result = await ask(netns, { address, port, id, timeoutMs, attempts: 1 });
    return { from, address, port, hops: watch.hops(id), result };
  } finally {
    watch.close();
  }
}

function targetOf(lab: Lab, to: string, family: Family): { address: string; port: number } {
  const ip = canonicalIp(to);
  if (ip !== null) return { address: ip, port: ECHO_PORT };
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(to) ?? [];
  const withPort = canonicalIp(bracketed ?? plain ?? '');
  if (withPort !== null) return { address: withPort, port: Number(port) };
  const service = servicePorts(servicesOf(lab.api), slicesOf(lab.api), family).find(({ name }) => name === to);
  if (service !== undefined) return { address: service.clusterIp, port: service.port };
  const address = lab.place(to).ips.find((one) => familyOf(one) === family);
  if (address === undefined) throw new Error(`${to} has no address of IPv${family}`);
  return { address, port: ECHO_PORT };
}

/** Lines for people: one a hop, and what became of it. */
export function traceLines({ from, address, port, hops, result }: Trace): readonly string[] {
  const rows = hops.map((hop, index) => {
    const before = hops[index - 1];
    const changed = before !== undefined && before.answer === hop.answer ? rewritten(before, hop) : '';
    const device = hop.alias?.startsWith('eni-') ? `${hop.device} (${hop.alias})` : hop.device;
    return [hop.answer ? '←' : '→', hop.place, device, hop.direction, flow(hop), changed] as const;
  });
  const width = (column: 1 | 2) => Math.max(0, ...rows.map((row) => row[column].length));
  const lines = rows.map(([arrow, place, device, direction, text, changed]) =>
    `  ${arrow} ${place.padEnd(width(1))}  ${device.padEnd(width(2))}  ${direction.padEnd(3)}  ${text}${changed}`.trimEnd(),
  );
  return [`${from} to ${endpoint(address, port)}`, ...lines, ending(hops, result, address)];
}

function ending(hops: readonly Hop[], result: ProbeResult, address: string): string {
  if (result.reached) {
    const wrong = result.answeredBy === address ? '' : `, but the answer came from ${result.answeredBy}`;
    return `reached ${result.place ?? 'somebody'}, who saw ${result.sourceSeen}${wrong}; ${result.rttMs.toFixed(1)} ms`;
  }
  const last = hops.at(-1);
  if (last === undefined) return `not reached: no packet left (${result.why})`;
  const what = last.answer ? 'the answer' : 'the packet';
  return `not reached: ${what} was last seen at ${last.place}, ${last.device} ${last.direction} (${result.why})`;
}

function rewritten(before: Hop, hop: Hop): string {
  const parts = [
    before.source === hop.source && before.sourcePort === hop.sourcePort ? [] : ['source'],
    before.destination === hop.destination && before.destinationPort === hop.destinationPort ? [] : ['destination'],
  ].flat();
  return parts.length === 0 ? '' : `   ${parts.join(' and ')} rewritten`;
}

function flow({ source, sourcePort, destination, destinationPort }: Hop): string {
  return `${endpoint(source, sourcePort)} → ${endpoint(destination, destinationPort)}`;
}

function endpoint(ip: string, port: number): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}
