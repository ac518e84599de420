/**
 * B36: what an earlier holder of the address left on the host, and the first packets to the pod that has it now: none is lost, from its node, from a pod of another
 * ENI and from another node. B37: a host whose reverse-path filters are strict, on which somebody makes and deletes devices all the time: five kinds of
 * paths, and pods that come and go. By the lab: real daemon, plugin and router. B36 and B37 of single objects: b33-b36-b37-what-was-on-the-host-before.test.ts.
 */
import '../lab/in-box.ts';

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import type { Netns } from '../../src/lab/netns/netns.ts';
import type { LabNode } from '../../src/lab/node/lab-node.ts';
import { ask } from '../../src/lab/probe/ask.ts';
import { ECHO_PORT } from '../../src/lab/probe/echo-socket.ts';
import { runInside } from '../../src/lab/services/run-inside.ts';
import type { NodeReport } from '../../src/ports/introspection.ts';
import { cannotWalk } from '../lab/whole-path.ts';
import { SPEED } from './speed.ts';

t.setTimeout(SPEED === 1 ? 900_000 : 120_000);
const skip = cannotWalk();
const ROUNDS = SPEED === 1 ? 20 : 3;
const ADDS = SPEED === 1 ? 100 : 6;
const WITHIN_MS = 4_000;
const ELSEWHERE = 'elsewhere';
const NODE_PORT = 30_071;
const DEAD = 'calidead0000001';

t.test('B36, B37: first packets', { skip }, async (t) => {
  // The keeper would take what the test leaves for drift, and mend it first.
  const keeper = { kernel_period: '10m', kernel_gather: '5m' };
  const config = { cool_down: '200ms', min_pool_size: 0, max_pool_size: 8, ...keeper };
  const lab = await startLab({ topology: labTopology(2), config });
  try {
    const [node] = lab.nodes;
    if (node === undefined) throw new Error('no node');
    // One more than an ENI has, so that there are pods on two.
    for (let at = 0; at < 5; at += 1) await lab.addPod(`there-${at}`, 'node-1');
    await lab.addPod('far', 'node-2');
    await lab.addPod('comes', 'node-1');
    await lab.removePod('comes');
    await t.test('B36: what is left on the host gives way, and no packet is lost', (t) => leftovers(t, lab, node));
    await t.test('B37: a strict host on which others make and delete devices', (t) => strict(t, lab, node));
    t.strictSame(lab.refused().routingFault, 0, 'no packet left by a wrong ENI');
  } finally {
    t.strictSame(await lab.stop(), [], 'nothing is left behind');
  }
});

/** One packet from a socket of its own; null when the pod saw its true sender and answered, else what went wrong. */
async function onePacket(lab: Lab, from: string, address: string, port?: number): Promise<string | null> {
  const netns = lab.netnsOf(from);
  if (netns === null) throw new Error(`no ${from}`);
  const question = { address, timeoutMs: WITHIN_MS, attempts: 1, ...(port !== undefined && { port }) };
  const result = await ask(netns, question);
  if (!result.reached) return `${from} to ${address}: ${result.why}`;
  const own = lab.place(from).ips;
  return own.includes(result.sourceSeen) ? null : `${from} to ${address}: seen as ${result.sourceSeen}`;
}

const ip = (netns: Netns, ...args: string[]): Promise<string> => runInside(netns, 'ip', args);

async function rulesAbout(netns: Netns, address: string): Promise<readonly string[]> {
  return (await ip(netns, 'rule')).split('\n').filter((line) => line.split(/\s+/).includes(address));
}

type Left = { readonly undo: readonly string[]; readonly made: readonly (readonly string[])[] };

/** What an earlier pod of this address, or somebody, may have left: a route to a device without a pod or into nowhere, a rule to another table, neighbours. */
function leftOf(address: string, device: string, otherTable: number, dead: boolean): Left {
  const rule = ['from', address, 'priority', '2048', 'table', `${otherTable}`];
  const neighbour = (on: string) => [
    'neigh',
    'replace',
    address,
    'lladdr',
    '02:00:00:00:00:99',
    'dev',
    on,
    'nud',
    'permanent',
  ];
  return {
    made: [
      dead ? ['route', 'replace', `${address}/32`, 'dev', DEAD] : ['route', 'replace', 'blackhole', `${address}/32`],
      ['rule', 'add', ...rule],
      neighbour(device),
      neighbour(DEAD),
    ],
    undo: ['rule', 'del', ...rule],
  };
}

/** Once some address is idle, which the next pod gets. */
async function withIdle(node: LabNode): Promise<NodeReport['enis']> {
  for (;;) {
    const enis = (await node.report())?.enis ?? [];
    if (enis.some(({ addresses }) => addresses.some(({ state }) => state === 'idle'))) return enis;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function leftovers(t: Test, lab: Lab, node: LabNode): Promise<void> {
  const { netns } = node.guest;
  await ip(netns, 'link', 'add', DEAD, 'type', 'veth', 'peer', 'name', 'deadpeer');
  for (const device of [DEAD, 'deadpeer']) await ip(netns, 'link', 'set', device, 'up');
  for (let round = 0; round < ROUNDS; round += 1) {
    const enis = await withIdle(node);
    const tables = enis.map(({ routeTable }) => routeTable ?? 0);
    // Whichever of them comes next, it has all of that.
    const coming = enis.flatMap(({ addresses, device, routeTable }) =>
      addresses
        .filter(({ state }) => state === 'idle')
        .map(({ ipv4 }) => ({ ipv4, device: device ?? '', other: tables.find((one) => one !== routeTable) ?? 1_999 })),
    );
    const left = coming.map(({ ipv4, device, other }) => leftOf(ipv4, device, other, round % 2 === 0));
    for (const command of left.flatMap(({ made }) => made)) await ip(netns, ...command);
    const pod = await lab.addPod('comes', 'node-1');
    const [address = ''] = pod.ips;
    t.ok(
      coming.some(({ ipv4 }) => ipv4 === address),
      `round ${round}: ${address} is one of ${coming.length}`,
    );
    const to = ['node-1', 'there-0', 'there-4', 'far'].map((from) => onePacket(lab, from, address));
    const of = ['node-1', 'far'].map((name) => onePacket(lab, 'comes', lab.place(name).ips[0] ?? ''));
    t.strictSame((await Promise.all([...to, ...of])).filter(Boolean), [], `round ${round}: the first packets arrive`);
    const routes = (await ip(netns, 'route', 'show', address)).trim().split('\n');
    const host = hostVethName({ namespace: 'default', name: 'comes' }, 'eth0');
    t.strictSame(
      routes.map((route) => route.replaceAll(/ +/g, ' ').trim()),
      [`${address} dev ${host} scope link`],
      `round ${round}: one route, the pod's`,
    );
    t.equal((await rulesAbout(netns, address)).length, 2, `round ${round}: one pair of rules`);
    await lab.removePod('comes');
    t.equal((await ip(netns, 'route', 'show', address)).trim(), '', `round ${round}: no route after DEL`);
    t.strictSame(await rulesAbout(netns, address), [], `round ${round}: no rule after DEL`);
    for (const { undo } of left) await ip(netns, ...undo).catch(() => {}); // the pod's own is gone
    for (const { ipv4 } of coming) await ip(netns, 'route', 'del', `${ipv4}/32`).catch(() => {});
  }
  await ip(netns, 'link', 'del', DEAD);
}

/** Somebody who makes devices and deletes them again, as fast as he can; resolves once he has begun. */
async function busyOther(t: Test, netns: Netns): Promise<ChildProcess> {
  const loop =
    'echo; n=0; while :; do n=$((n + 1)); ip link add o$n type veth peer name p$n; ip link set o$n up; ip link del o$n; done';
  const { command, args } = netns.command('sh', ['-c', loop]);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env: { PATH: process.env.PATH } });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout as NodeJS.ReadableStream, 'data');
  return child;
}

async function strict(t: Test, lab: Lab, node: LabNode): Promise<void> {
  const { netns, ips } = node.guest;
  const setting = (device: string, key = 'rp_filter') => `/proc/sys/net/ipv4/conf/${device}/${key}`;
  const read = (device: string) => netns.run(() => readFileSync(setting(device), 'utf8').trim());
  netns.run(() => {
    for (const device of ['all', 'default', 'eth0']) writeFileSync(setting(device), '1');
    writeFileSync(setting('default', 'forwarding'), '0');
  });
  // As on a host that was strict before the daemon came.
  node.daemon?.signal('SIGKILL');
  await node.daemon?.ended;
  node.startDaemon();
  await node.whenServing(60_000);
  const other = await busyOther(t, netns);
  const rule = ['-p', 'udp', '-d', ips[0] ?? '', '--dport', `${NODE_PORT}`, '-j', 'DNAT', '--to-destination'];
  const failed: string[] = [];
  for (let at = 0; at < ADDS; at += 1) {
    const pod = await lab.addPod('comes', 'node-1');
    const [address = ''] = pod.ips;
    await runInside(netns, 'iptables', ['-t', 'nat', '-A', 'PREROUTING', ...rule, `${address}:${ECHO_PORT}`]);
    const paths: readonly (readonly [string, Promise<string | null>])[] = [
      ['pod to outside', onePacket(lab, 'comes', lab.place(ELSEWHERE).ips[0] ?? '')],
      ['outside to pod by its ENI', onePacket(lab, ELSEWHERE, address)],
      ['node to pod', onePacket(lab, 'node-1', address)],
      ['pod to a pod of another ENI', onePacket(lab, 'there-0', address)],
      ['pod to a pod of another ENI', onePacket(lab, 'there-4', address)],
      ['in by the primary ENI', onePacket(lab, ELSEWHERE, ips[0] ?? '', NODE_PORT)],
    ];
    for (const [words, outcome] of paths) {
      const wrong = await outcome;
      if (wrong !== null) failed.push(`${at} ${words}: ${wrong}`);
    }
    const host = hostVethName({ namespace: 'default', name: 'comes' }, 'eth0');
    if (read(host) !== '2') failed.push(`${at}: rp_filter of ${host} is ${read(host)}`);
    if (pod.failedTries > 0) failed.push(`${at}: an ADD failed: ${pod.failure}`);
    await runInside(netns, 'iptables', ['-t', 'nat', '-F', 'PREROUTING']);
    await lab.removePod('comes');
  }
  t.strictSame(failed, [], `of ${ADDS} pods, six paths each`);
  t.equal(other.exitCode, null, 'all the while');
  for (const device of ['all', 'default']) t.equal(read(device), '1', `${device} is the host's`);
  t.equal(read('eth0'), '2', 'what comes in by it for pods would be dropped otherwise');
  for (const { device } of (await node.report())?.enis ?? []) t.equal(read(device ?? ''), '2', `${device} is ours`);
}
