/**
 * F3: a request that came in by the node's primary interface for a pod on a secondary ENI. `world` is the VPC and a client beyond it; it drops
 * what comes by an interface that is not the way to its source, as the VPC does with an ENI that sends a foreign address.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type Test, test } from 'tap';
import { HostKernel } from '../../src/adapters/datapath/host-kernel.ts';
import { PodNamespace } from '../../src/adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../../src/adapters/datapath/pod-network.ts';
import { podPlan } from '../../src/adapters/datapath/pod-plan.ts';
import { sandboxKey } from '../../src/core/sandbox.ts';
import type { HostWanted } from '../../src/ports/kernel.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';

const noNft =
  spawnSync('nft', ['--version']).error !== undefined && 'NOT RUN: needs the program nft (package nftables)';
const skip = cannotMakeNamespaces() || noNft;

const PRIMARY_MAC = '00:16:3e:00:00:01';
const ENI_MAC = '00:16:3e:00:00:07';
const NODE = { 4: '192.168.0.1', 6: 'fd00::1' } as const;
const POD = { 4: '192.168.0.10', 6: 'fd00::10' } as const;
const CLIENT = { 4: '203.0.113.5', 6: '2001:db8::5' } as const;
const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: 'fd00::/64', ipv6Gateway: 'fd00::fd' };
const NODE_PORT = 30080;
const never = new AbortController().signal;
/** A SYN that was lost is sent again after 1 s: what has no answer then has none, and what is to come may come late on a busy machine. */
const [SILENCE_MS, PATIENCE_MS] = [1_200, 15_000];

// kube-proxy with externalTrafficPolicy Local: the destination is rewritten and the client stays who it is.
const NODE_PORT_RULES = `table inet kube {
  chain services { type nat hook prerouting priority dstnat;
    ip daddr ${NODE[4]} tcp dport ${NODE_PORT} dnat ip to ${POD[4]}:8080
    ip6 daddr ${NODE[6]} tcp dport ${NODE_PORT} dnat ip6 to [${POD[6]}]:8080
  }
}`;
const STRICT_VPC = `table inet vpc {
  chain from-enis { type filter hook prerouting priority raw;
    iifname { eth0far, eth1far } fib saddr . iif oif missing counter drop
  }
}`;

async function cluster(t: Test, replyPaths: boolean) {
  const world = new TestNamespace(t, 'world');
  const host = new TestNamespace(t, 'host');
  const inPod = new TestNamespace(t, 'pod');
  const mac = { eth0: PRIMARY_MAC, eth1: ENI_MAC };
  for (const device of ['eth0', 'eth1'] as const) {
    host.ip(
      'link',
      'add',
      device,
      'address',
      mac[device],
      'type',
      'veth',
      'peer',
      'name',
      `${device}far`,
      'netns',
      world.name,
    );
    world.ip('link', 'set', `${device}far`, 'up');
    host.ip('link', 'set', device, 'up');
    const lladdr = /link\/ether (\S+)/.exec(world.ip('link', 'show', `${device}far`))?.[1] ?? '';
    for (const gateway of [subnet.gateway, subnet.ipv6Gateway])
      host.ip('neigh', 'replace', gateway, 'lladdr', lladdr, 'dev', device, 'nud', 'permanent');
    for (const family of [4, 6] as const)
      for (const ip of device === 'eth0' ? [NODE[family]] : [POD[family]]) {
        world.ip('route', 'add', ip, 'dev', `${device}far`);
        world.ip('neigh', 'replace', ip, 'lladdr', mac[device], 'dev', `${device}far`, 'nud', 'permanent');
      }
  }
  for (const family of [4, 6] as const) {
    world.ip(
      'addr',
      'add',
      `${CLIENT[family]}/${family === 4 ? 32 : 128}`,
      'dev',
      'lo',
      ...(family === 6 ? ['nodad'] : []),
    );
    host.ip(
      'addr',
      'add',
      `${NODE[family]}/${family === 4 ? 24 : 64}`,
      'dev',
      'eth0',
      ...(family === 6 ? ['nodad'] : []),
    );
    const gateway = family === 4 ? subnet.gateway : subnet.ipv6Gateway;
    host.ip(`-${family}`, 'route', 'add', 'default', 'via', gateway, 'dev', 'eth0', 'onlink', 'metric', '100');
  }
  for (const key of ['conf/all/rp_filter', 'conf/default/rp_filter'])
    world.run(() => execFileSync('sh', ['-c', `echo 0 > /proc/sys/net/ipv4/${key}`]));
  nft(world, STRICT_VPC);
  nft(host, NODE_PORT_RULES);

  const kernel = new HostKernel(libc, {
    eniKinds: ['device', 'veth'],
    ipv6: true,
    pollMs: 20,
    watchMs: 10,
    replyPaths,
  });
  await host.run(() => kernel.prepareHost());
  const eni = { mac: ENI_MAC, subnet, nodeIp: NODE[4], mtu: 1500 };
  const { routeTable } = await host.run(() => kernel.setUpEni({ ...eni, routeTable: null }, never));
  const pod = { namespace: 'default', name: 'web-0', uid: null };
  const sandbox = { containerId: 'sandbox-1', ifName: 'eth0', netns: inPod.path, network: 'net', pod };
  const ips = [POD[4], POD[6]];
  const namespace = new PodNamespace(libc, inPod.path);
  host.run(() =>
    new PodNetwork(libc).attach(podPlan({ sandbox, ips, routeTable, mtu: 1500, defaultRoute: true }), namespace),
  );
  namespace.close();
  await serve(t, inPod, 8080);
  await serve(t, world, 9000);
  const wanted: HostWanted = {
    enis: [{ ...eni, routeTable, ips, freeIps: [] }],
    pods: [{ sandbox, ips, routeTable, standing: 'seen' }],
    claimed: new Set([sandboxKey(sandbox)]),
    dead: [],
    heldOff: new Set(),
    thorough: true,
  };
  const keep = async () => (await host.run(() => kernel.keep(wanted))).drifts;
  return { world, host, inPod, kernel, keep };
}

function nft(namespace: TestNamespace, text: string): void {
  execFileSync('ip', ['netns', 'exec', namespace.name, 'nft', '-f', '-'], { input: text });
}

function node(namespace: TestNamespace, code: string, ...args: string[]) {
  return spawn('ip', ['netns', 'exec', namespace.name, process.execPath, '-e', code, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Answers each caller with the address it sees. */
async function serve(t: Test, namespace: TestNamespace, port: number): Promise<void> {
  const code = `require('node:net').createServer((s) => { s.on('error', () => {}); s.end(s.remoteAddress.replace('::ffff:', '')); })
    .listen({ port: Number(process.argv[1]), host: '::' }, () => process.stdout.write('up'))`;
  const server = node(namespace, code, `${port}`);
  t.teardown(() => server.kill());
  await once(server.stdout, 'data');
}

/** What the far end says it saw, or `no answer`. */
async function call(
  from: TestNamespace,
  host: string,
  port: number,
  own: string,
  waitMs = PATIENCE_MS,
): Promise<string> {
  const code = `const [host, port, localAddress, waitMs] = process.argv.slice(1);
    const s = require('node:net').connect({ host, port: Number(port), localAddress });
    const end = (text) => { process.stdout.write(text); process.exit(); };
    s.on('data', (d) => end(String(d))).on('error', (e) => end(e.code)).setTimeout(Number(waitMs), () => end('no answer'));`;
  const caller = node(from, code, host, `${port}`, own, `${waitMs}`);
  let text = '';
  caller.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await once(caller, 'close');
  return text;
}

test('F3: without the reply paths the answer leaves by the pod’s ENI, and the VPC drops it', { skip }, async (t) => {
  const { world, keep } = await cluster(t, false);
  t.equal(await call(world, NODE[4], NODE_PORT, CLIENT[4], SILENCE_MS), 'no answer');
  t.equal(await call(world, POD[4], 8080, CLIENT[4]), CLIENT[4], 'to the pod itself there is a way');
  t.strictSame(await keep(), []);
});

test('F3: who asks by the primary interface is answered by it, and is seen as who he is; both families', {
  skip,
}, async (t) => {
  const { world, host, inPod, keep, kernel } = await cluster(t, true);
  for (const family of [4, 6] as const) {
    t.equal(await call(world, NODE[family], NODE_PORT, CLIENT[family]), CLIENT[family], `NodePort, IPv${family}`);
    t.equal(await call(world, POD[family], 8080, CLIENT[family]), CLIENT[family], `the pod itself, IPv${family}`);
    t.equal(await call(inPod, CLIENT[family], 9000, POD[family]), POD[family], `the pod calls out, IPv${family}`);
  }
  t.strictSame(await keep(), [], 'there from the start');

  let told = 0;
  const stop = host.run(() =>
    kernel.watch(() => {
      told += 1;
    }),
  );
  t.teardown(stop);
  const heard = async (before: number) => {
    for (let waits = 0; told === before && waits < 500; waits += 1)
      await new Promise((resolve) => setTimeout(resolve, 10));
    return told > before;
  };
  nft(host, 'add table inet other; add chain inet other c; add rule inet other c accept; delete table inet other');
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(told, 0, 'what others do with theirs is none of it');
  nft(host, `flush ruleset\n${NODE_PORT_RULES}`);
  t.ok(await heard(0), 'a flush is heard of');
  t.equal(await call(world, NODE[4], NODE_PORT, CLIENT[4], SILENCE_MS), 'no answer');
  t.match(await keep(), [{ kind: 'nodeFilter', object: 'table inet enactor', outcome: 'repaired' }]);
  t.equal(await call(world, NODE[4], NODE_PORT, CLIENT[4]), CLIENT[4]);

  const before = told;
  host.ip('rule', 'del', 'priority', '600');
  host.ip('-6', 'rule', 'del', 'priority', '600');
  t.ok(await heard(before), 'so is a rule that goes');
  t.match(await keep(), [
    { kind: 'replyPath', object: '600 fwmark 0x10/0x10 lookup 254 (IPv4)', outcome: 'repaired' },
    { kind: 'replyPath', object: '600 fwmark 0x10/0x10 lookup 254 (IPv6)', outcome: 'repaired' },
  ]);
  t.equal(await call(world, NODE[6], NODE_PORT, CLIENT[6]), CLIENT[6]);
  host.ip('rule', 'add', 'priority', '600', 'fwmark', '0x10/0x10', 'table', '77');
  host.ip('rule', 'add', 'priority', '600', 'fwmark', '0x20/0x20', 'table', '77');
  t.match(await keep(), [{ kind: 'replyPath', detail: 'led to table 77', outcome: 'repaired' }]);
  t.match(host.ip('rule'), /fwmark 0x20\/0x20 lookup 77/, 'another mark is somebody else’s');
  t.strictSame(await keep(), []);
});

test('F3: the primary interface is the one of the node’s default route, and follows it', { skip }, async (t) => {
  const { host, keep } = await cluster(t, true);
  host.ip('route', 'add', 'default', 'dev', 'eth1', 'metric', '50'); // a guest agent's, on an ENI: not the node's way
  t.match(await keep(), [{ kind: 'foreignRoute' }]);
  host.ip('link', 'set', 'eth0', 'down');
  host.ip('link', 'set', 'eth0', 'name', 'ens5');
  host.ip('link', 'set', 'ens5', 'up');
  host.ip('route', 'add', 'default', 'via', subnet.gateway, 'dev', 'ens5', 'onlink');
  t.match(await keep(), [{ kind: 'nodeFilter', object: 'table inet enactor', outcome: 'repaired' }]);
  host.ip('route', 'del', 'default');
  t.strictSame(await keep(), [], 'of a host without a default route nothing is wanted');
});
