/**
 * B38: what a pod sends and receives through the devices that ADD made, measured at the far end by real transfers: behind a pair, and with an ENI of its own
 * (what comes by the ENI itself passes nothing that could hold it back: deploy/operation.md, "Limits"). For ten seconds each in the soak.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { type Test, test } from 'tap';
import { ExclusiveNetwork } from '../../src/adapters/datapath/exclusive-network.ts';
import { exclusivePlan, SERVICE_IF_NAME } from '../../src/adapters/datapath/exclusive-plan.ts';
import { PodNamespace } from '../../src/adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../../src/adapters/datapath/pod-network.ts';
import { podPlan } from '../../src/adapters/datapath/pod-plan.ts';
import { type Shaping, shapingFromBits } from '../../src/core/shaping.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { SPEED } from './speed.ts';

const skip = cannotMakeNamespaces();
const network = new PodNetwork(libc);
const POD = '192.168.0.10';
const HOST = '192.168.0.1';
const PORT = 5001;
const GATEWAY = '192.168.0.253';
const ENI_MAC = '00:16:3e:00:00:07';
const FULL = SPEED === 1;
const WARM_MS = 400;

type Pair = { readonly host: TestNamespace; readonly pod: TestNamespace; readonly hostName: string };

function shaped(t: Test, shaping: Shaping): Pair & { verify(): string | null } {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  host.ip('addr', 'add', `${HOST}/32`, 'dev', 'lo');
  const sandbox = {
    containerId: 'shaped',
    ifName: 'eth0',
    netns: pod.path,
    network: 'net',
    pod: { namespace: 'default', name: 'web-0', uid: null },
  };
  const plan = podPlan({ sandbox, ips: [POD], routeTable: 1007, mtu: 1500, defaultRoute: true, shaping });
  const within = <T>(work: (namespace: PodNamespace) => T): T => {
    const namespace = new PodNamespace(libc, pod.path);
    try {
      return host.run(() => work(namespace));
    } finally {
      namespace.close();
    }
  };
  const { hostName } = within((namespace) => network.attach(plan, namespace));
  return { host, pod, hostName, verify: () => within((namespace) => network.verify(plan, namespace)) };
}

function tc(namespace: TestNamespace, ...args: string[]): string {
  return execFileSync('ip', ['netns', 'exec', namespace.name, 'tc', ...args], { encoding: 'utf8' });
}

// The far end takes what comes. What its kernel has counted on the device (frames, as the bucket counts them) is read twice, after a first moment in
// which the bucket's burst passes: whoever is late in reading it is late with the clock as well.
const RECEIVE = `
const [port, device, warmMs, forMs] = process.argv.slice(1);
let before;
const count = () => {
  const text = require('node:fs').readFileSync('/proc/net/dev', 'utf8');
  const line = text.split('\\n').find((each) => each.trim().startsWith(device + ':'));
  return [Number(line.split(':')[1].trim().split(/ +/)[0]), performance.now()];
};
require('node:net').createServer((socket) => {
  socket.on('error', () => {}).resume();
  [before] = count();
  setTimeout(() => {
    const [bytes, from] = count();
    setTimeout(() => {
      const [more, to] = count();
      process.stdout.write([(more - bytes) * 8000 / (to - from), (bytes - before) * 8].join(' '));
      process.exit();
    }, Number(forMs));
  }, Number(warmMs));
}).listen(Number(port), () => process.stdout.write('\\n'));
`;
const SEND = `
const [host, port] = process.argv.slice(1);
const socket = require('node:net').connect({ host, port: Number(port) });
const block = Buffer.alloc(65536);
const fill = () => { while (socket.write(block)); };
socket.on('connect', fill).on('drain', fill).on('error', () => process.exit()).on('close', () => process.exit());
`;

type End = { readonly namespace: TestNamespace; readonly device: string; readonly address: string };

/** Bits per second that `to` got, and bits that it got in the moment before. */
async function measured(from: TestNamespace, to: End, forMs: number): Promise<readonly [number, number]> {
  const node = (namespace: TestNamespace, code: string, ...args: string[]) =>
    spawn('ip', ['netns', 'exec', namespace.name, process.execPath, '-e', code, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const receiver = node(to.namespace, RECEIVE, `${PORT}`, to.device, `${WARM_MS}`, `${forMs}`);
  await once(receiver.stdout, 'data');
  let text = '';
  receiver.stdout.on('data', (chunk) => {
    text += chunk;
  });
  const sender = node(from, SEND, to.address, `${PORT}`);
  await once(receiver, 'close');
  if (sender.exitCode === null) await once(sender, 'close');
  const [rate = '0', first = '0'] = text.split(' ');
  return [Number(rate), Number(first)];
}

const transfer = async (from: TestNamespace, to: End, forMs: number) => (await measured(from, to, forMs))[0];

/**
 * Within 10 %, and at the start no more than a second's worth beyond it. Too little is measured again: a sender that a busy machine does not let run
 * cannot make up for it.
 */
async function holds(t: Test, words: string, bits: number, from: TestNamespace, to: End): Promise<void> {
  let best = 0;
  for (let tries = 0; tries < 4 && best < 0.9 * bits; tries += 1) {
    const [rate, first] = await measured(from, to, FULL ? 10_000 : bits < 2e6 ? 1_500 : 800);
    t.ok(rate <= 1.1 * bits, `${words}: ${Math.round(rate)} of ${bits} bit/s`);
    t.ok(first <= bits * (1 + WARM_MS / 1_000), `${words}: ${first} bits in the first ${WARM_MS} ms`);
    best = Math.max(best, rate);
  }
  t.ok(best >= 0.9 * bits, `${words}: at best ${Math.round(best)} of ${bits} bit/s`);
}

const inPod = ({ pod }: Pair): End => ({ namespace: pod, device: 'eth0', address: POD });
const atHost = ({ host, hostName }: Pair): End => ({ namespace: host, device: hostName, address: HOST });

const RATES = [1e6, 10e6];

test('B38: transfers stay within 10 % of what was asked, in both directions', { skip }, async (t) => {
  const pairs = RATES.map((bits) => ({ bits, pair: shaped(t, shapingFromBits({ ingress: bits, egress: bits })) }));
  await Promise.all(pairs.map(({ bits, pair }) => holds(t, 'sent', bits, pair.pod, atHost(pair))));
  await Promise.all(pairs.map(({ bits, pair }) => holds(t, 'received', bits, pair.host, inPod(pair))));
});

test('B38, own ENI: so do those that it sends, and what the host sends it; CHECK misses a bucket', {
  skip,
}, async (t) => {
  const pairs = (FULL ? [10e6, 1e6] : [10e6]).map((bits) => ({
    bits,
    own: withOwnEni(t, shapingFromBits({ ingress: bits, egress: bits })),
  }));
  await Promise.all(pairs.map(({ bits, own }) => holds(t, 'sent by the ENI', bits, own.pod, own.far)));
  await Promise.all(pairs.map(({ bits, own }) => holds(t, 'from the host', bits, own.host, own.atPod)));
  const [{ own }] = pairs as [(typeof pairs)[0]];
  t.equal(own.verify(), null);
  tc(own.pod, 'qdisc', 'del', 'dev', 'eth0', 'root');
  t.equal(own.verify(), 'limit of 1250000 bytes/s (tbf) on eth0');
  own.detach();
  t.notMatch(tc(own.host, 'qdisc', 'show'), /tbf/, 'nothing of it is left on the host, to which the ENI came back');
  t.match(own.host.ip('link'), new RegExp(ENI_MAC));
  const other = withOwnEni(t, shapingFromBits({ ingress: 1e6, egress: 1e6 }));
  other.detach();
  t.notMatch(tc(other.host, 'qdisc', 'show'), /tbf/, 'nor of one that had its bucket to the end');
});

function withOwnEni(t: Test, shaping: Shaping) {
  const [host, pod, farEnd] = [new TestNamespace(t, 'host'), new TestNamespace(t, 'pod'), new TestNamespace(t, 'far')];
  const peer = ['peer', 'name', 'far', 'netns', farEnd.name];
  host.ip('link', 'add', 'eth1', 'address', ENI_MAC, 'type', 'veth', ...peer);
  farEnd.ip('link', 'set', 'far', 'up');
  farEnd.ip('addr', 'add', `${GATEWAY}/24`, 'dev', 'far');
  host.ip('addr', 'add', `${HOST}/32`, 'dev', 'lo');
  const sandbox = {
    ...{ containerId: 'shaped', ifName: 'eth0', netns: pod.path, network: 'net' },
    pod: { namespace: 'default', name: 'web-0', uid: null },
  };
  const plan = exclusivePlan({
    ...{ sandbox, ips: [POD], mtu: 1500, eniMac: ENI_MAC, gateways: [GATEWAY], throughHost: [HOST], shaping },
  });
  const own = new ExclusiveNetwork(libc);
  const within = <T>(work: (namespace: PodNamespace) => T): T => {
    const namespace = new PodNamespace(libc, pod.path);
    try {
      return host.run(() => work(namespace));
    } finally {
      namespace.close();
    }
  };
  within((namespace) => own.attach(plan, namespace));
  return {
    ...{ host, pod },
    far: { namespace: farEnd, device: 'far', address: GATEWAY },
    // What the host sends comes by the pair.
    atPod: { namespace: pod, device: SERVICE_IF_NAME, address: POD },
    verify: () => within((namespace) => own.verify(plan, namespace)),
    detach: () => {
      within((namespace) => own.detach(sandbox, namespace, ENI_MAC));
      host.run(() => network.detach(sandbox, [POD]));
    },
  };
}

test('B38: a gigabit is kept as well, where the machine sends more than that', { skip }, async (t) => {
  const free = shaped(t, {});
  const held = shaped(t, shapingFromBits({ ingress: 1e9, egress: 1e9 }));
  const own = withOwnEni(t, shapingFromBits({ egress: 1e9 }));
  const ways: readonly (readonly [string, TestNamespace, End])[] = [
    ['sent', held.pod, atHost(held)],
    ['received', held.host, inPod(held)],
    ['sent by its own ENI', own.pod, own.far],
  ];
  for (const [words, from, to] of ways) await gigabit(t, words, from, to, free);
});

async function gigabit(t: Test, words: string, from: TestNamespace, to: End, free: Pair): Promise<void> {
  let best = 0;
  for (let tries = 0; tries < 5 && best < 0.9e9; tries += 1) {
    const rate = await transfer(from, to, FULL ? 10_000 : 500);
    t.ok(rate <= 1.1e9, `${words}: ${Math.round(rate / 1e6)} Mbit/s`);
    best = Math.max(best, rate);
  }
  if (best >= 0.9e9) return;
  // A sender that is not let run for some milliseconds cannot make up for them: the bucket holds one.
  const possible = await transfer(free.pod, atHost(free), 400);
  const busy = possible < 3e9 || (loadavg()[0] ?? 0) > 2 * availableParallelism();
  const told = `of a gigabit ${words} ${Math.round(best / 1e6)} Mbit/s`;
  if (busy) t.comment(`NOT CHECKED from below, on a busy machine: ${told}`);
  else t.fail(told);
}

test('B38: one direction alone is limited, tc tells the numbers, CHECK misses what was taken away', {
  skip,
}, async (t) => {
  const one = shaped(t, shapingFromBits({ ingress: 1e6 }));
  t.match(tc(one.host, 'qdisc', 'show', 'dev', one.hostName), /tbf 1: root .*rate 1Mbit burst 3000b lat 25ms/);
  t.notMatch(tc(one.pod, 'qdisc', 'show', 'dev', 'eth0'), /tbf/);
  t.equal(one.verify(), null);
  tc(one.host, 'qdisc', 'del', 'dev', one.hostName, 'root');
  t.equal(one.verify(), `limit of 125000 bytes/s (tbf) on ${one.hostName}`);
  const other = shaped(t, { egress: 6e9 }); // more than 32 bits hold
  t.match(tc(other.pod, 'qdisc', 'show', 'dev', 'eth0'), /tbf 1: root .*rate 48Gbit/);
  t.equal(other.verify(), null);
  tc(other.pod, 'qdisc', 'replace', 'dev', 'eth0', 'root', 'tbf', 'rate', '1mbit', 'burst', '3000', 'latency', '25ms');
  t.equal(other.verify(), 'limit of 6000000000 bytes/s (tbf) on eth0');
});
