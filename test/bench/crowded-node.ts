/**
 * A node as full as nodes get: pods that are there already, and the routes and rules of others (a BGP speaker, a mesh, a VPN).
 *
 * It is a network namespace of its own beside the empty one, so that both can be measured in turns: whoever spawns a process does so from
 * within. Half of the foreign rules come before ours in the kernel's order, half after them.
 */
import { closeSync, openSync } from 'node:fs';
import type { Libc } from '../../src/adapters/netlink/libc.ts';
import { inNamespace } from '../../src/adapters/netlink/namespace.ts';
import { ENI, ip, makeEni, run } from './cni-sides.ts';

export const CROWD = { pods: 200, routes: 20_000, rules: 5_000 } as const;

export type PlaceOnNode = { within<T>(work: () => T): T; end(): void };

/** A node by the name of its network namespace; nothing but the ENI's device is in it. */
export function emptyNode(libc: Libc, name: string): PlaceOnNode {
  run(ip(['netns', 'add', name]));
  const fd = openSync(`/run/netns/${name}`, 'r');
  const within = <T>(work: () => T): T => inNamespace(libc, fd, work);
  within(() => {
    run(ip(['link', 'set', 'lo', 'up']));
    makeEni();
  });
  return { within, end: () => closeSync(fd) };
}

/** What else is there; `within` the node. */
export function makeCrowd({ pods, routes, rules }: typeof CROWD): void {
  const numbered = (count: number, line: (nth: number) => readonly string[]): readonly string[] =>
    Array.from({ length: count }, (_, nth) => line(nth)).flat();
  const two = (nth: number): string => `${nth >> 8}.${nth & 255}`;
  const lines = [
    ...numbered(pods, (nth) => [
      `link add crowd${nth} type veth peer name crowd${nth} netns crowd`,
      `link set crowd${nth} up`,
      `route add 10.7.${128 + (nth >> 8)}.${nth & 255}/32 dev crowd${nth} scope link`,
      `rule add to 10.7.${128 + (nth >> 8)}.${nth & 255}/32 lookup main priority 512`,
      `rule add from 10.7.${128 + (nth >> 8)}.${nth & 255}/32 lookup ${ENI.routeTable} priority 2048`,
    ]),
    ...numbered(routes, (nth) => [
      `route add 172.${16 + (nth >> 14)}.${two((nth & 16_383) << 2)}/30 dev ${ENI.device}`,
    ]),
    ...numbered(rules, (nth) => [
      `rule add from 100.64.${two(nth)}/32 lookup 5000 priority ${nth % 2 === 0 ? 100 : 30_000}`,
    ]),
  ];
  run(ip(['netns', 'add', 'crowd']));
  run(ip(['-batch', '-'], `${lines.join('\n')}\n`));
}
