/**
 * P23: what the connection tracking remembers of an address goes at DEL and before the address is leased again. A UDP flow to the old pod
 * through a service reaches nothing wrong.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import t, { type Test } from 'tap';
import { forgetConnections } from '../../src/adapters/netlink/connections.ts';
import { NetlinkSocket } from '../../src/adapters/netlink/netlink-socket.ts';
import { decodeConnection, dumpConnections, NETLINK_NETFILTER } from '../../src/adapters/netlink/wire/connection.ts';
import type { Family } from '../../src/core/ip.ts';
import { udpSocket } from '../../src/lab/netns/libc.ts';
import { hostDatapath } from '../../src/plugin/host-datapath.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';

/** iptables of Debian; without it nothing is tracked and nothing can be tried. */
const hasIptables = spawnSync('iptables', ['-V']).status === 0;
const skip = cannotMakeNamespaces() || (hasIptables ? false : 'NOT RUN: needs iptables to have connections tracked');

const SERVICE = '10.96.0.10';
const PODS = ['192.168.0.10', '192.168.0.11'] as const;

/** A host that tracks, with two pods behind it and a service that leads to the first. */
function trackingHost(t: Test) {
  const host = new TestNamespace(t, 'host');
  const pod = (ip: string, at: number): TestNamespace => {
    const inside = new TestNamespace(t, `pod${at}`);
    host.ip('link', 'add', `cali${at}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', inside.name);
    host.ip('link', 'set', `cali${at}`, 'up');
    host.ip('addr', 'add', '169.254.1.1/32', 'dev', `cali${at}`);
    host.ip('route', 'add', `${ip}/32`, 'dev', `cali${at}`);
    inside.ip('link', 'set', 'eth0', 'up');
    inside.ip('addr', 'add', `${ip}/32`, 'dev', 'eth0');
    inside.ip('route', 'add', '169.254.1.1', 'dev', 'eth0');
    inside.ip('route', 'add', 'default', 'via', '169.254.1.1');
    return inside;
  };
  const nat = (...args: string[]) =>
    host.run(() => execFileSync('iptables', ['-w', '-t', 'nat', ...args], { stdio: ['ignore', 'ignore', 'pipe'] }));
  const serve = (how: string[], ip: string) =>
    nat(...how, '-d', SERVICE, '-p', 'udp', '-j', 'DNAT', '--to-destination', ip);
  host.ip('addr', 'add', '10.0.0.5/32', 'dev', 'lo');
  host.ip('link', 'add', 'svc', 'type', 'veth', 'peer', 'name', 'svcfar');
  host.ip('link', 'set', 'svc', 'up');
  host.ip('link', 'set', 'svcfar', 'up');
  host.ip('route', 'add', `${SERVICE}/32`, 'dev', 'svc', 'src', '10.0.0.5');
  serve(['-A', 'OUTPUT'], PODS[0]);
  return { host, pod, serve };
}

/** A socket of that namespace, wherever the process is later; it remembers what it was told. */
function listener(t: Test, namespace: TestNamespace, port: number) {
  const fd = namespace.run(() => udpSocket(4, port));
  const socket = createSocket('udp4');
  const heard: string[] = [];
  socket.on('message', (message) => heard.push(message.toString()));
  socket.bind({ fd });
  t.teardown(() => socket.close());
  return { socket, heard };
}

async function until(met: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 400 && !met(); tries += 1) await new Promise((resolve) => setTimeout(resolve, 5));
  return met();
}

/** `source to destination, answers from source`, of all entries that have the address anywhere. */
function tracked(host: TestNamespace, ip: string): readonly string[] {
  const family: Family = 4;
  const socket = host.run(() => new NetlinkSocket(libc, null, NETLINK_NETFILTER));
  try {
    const found = (['originalSource', 'originalDestination', 'replySource'] as const).flatMap((position) =>
      socket.dump(dumpConnections(family, position, ip)).map((body) => decodeConnection(family, body)),
    );
    return [
      ...new Set(
        found.map((one) => `${one?.original.source} to ${one?.original.destination}, from ${one?.reply.source}`),
      ),
    ].sort();
  } finally {
    socket.close();
  }
}

t.test(
  'P23: a UDP flow through a service does not reach whoever gets the old pod’s address next',
  { skip },
  async (t) => {
    const { host, pod, serve } = trackingHost(t);
    const first = pod(PODS[0], 0);
    const second = listener(t, pod(PODS[1], 1), 7);
    const old = listener(t, first, 7);
    const client = listener(t, host, 4_000);
    const say = (words: string, to = SERVICE) => client.socket.send(words, 7, to);
    say('to the service');
    say('to the other pod', PODS[1]);
    t.ok(await until(() => old.heard.includes('to the service') && second.heard.includes('to the other pod')));
    t.strictSame(tracked(host, PODS[0]), [`10.0.0.5 to ${SERVICE}, from ${PODS[0]}`]);
    const others = tracked(host, PODS[1]);
    t.match(others, [new RegExp(`to ${PODS[1]}, from ${PODS[1]}$`)]);

    // The pod dies, the service leads to another, and a stranger gets the address.
    host.ip('link', 'del', 'cali0');
    serve(['-R', 'OUTPUT', '1'], PODS[1]);
    const stranger = listener(t, pod(PODS[0], 2), 7);
    say('without us');
    t.ok(await until(() => stranger.heard.includes('without us')), 'that is how it goes wrong');

    t.equal(
      host.run(() => forgetConnections(libc, [PODS[0], 'fd00::10'], 0)),
      1,
    );
    t.strictSame(tracked(host, PODS[0]), []);
    t.strictSame(tracked(host, PODS[1]), others, 'those of another pod stay');
    say('with us');
    t.ok(await until(() => second.heard.includes('with us')), 'the service finds its pod');
    t.strictSame(stranger.heard, ['without us']);
    t.equal(
      host.run(() => forgetConnections(libc, ['192.168.0.99'])),
      0,
      'nothing there is success',
    );
  },
);

t.test('P23: DEL ends what is tracked of its addresses, of every protocol, and of no others', { skip }, async (t) => {
  const { host, pod } = trackingHost(t);
  pod(PODS[0], 0);
  pod(PODS[1], 1);
  const client = listener(t, host, 4_000);
  for (const port of [7, 8, 9]) for (const ip of PODS) client.socket.send('x', port, ip);
  client.socket.send('x', 7, SERVICE);
  t.ok(await until(() => tracked(host, PODS[0]).length === 2 && tracked(host, PODS[1]).length === 1));
  const others = tracked(host, PODS[1]);
  const sandbox = {
    containerId: 'sandbox-1',
    ifName: 'eth0',
    netns: '',
    network: 'net',
    pod: { namespace: 'default', name: 'web-0', uid: null },
  };
  host.ip('link', 'del', 'cali0');
  host.run(() => hostDatapath(libc).detach(sandbox, { ips: [PODS[0]], macs: [] }));
  t.strictSame(tracked(host, PODS[0]), []);
  t.strictSame(tracked(host, PODS[1]), others);
});
