import { readFileSync, writeFileSync } from 'node:fs';
import { type Test, test } from 'tap';
import { HostKernel } from '../../../src/adapters/datapath/host-kernel.ts';
import { PodNamespace } from '../../../src/adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../../../src/adapters/datapath/pod-network.ts';
import { podPlan } from '../../../src/adapters/datapath/pod-plan.ts';
import { DIRECT_GROUP } from '../../../src/adapters/datapath/sandbox-device.ts';
import { repairKey } from '../../../src/core/repair-ledger.ts';
import { sandboxKey } from '../../../src/core/sandbox.ts';
import type { HostWanted, PodKept, Standing } from '../../../src/ports/kernel.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../netlink/namespaces.ts';

const skip = cannotMakeNamespaces();
const MAC = '00:16:3e:00:00:07';
const IPS = ['192.168.0.10', 'fd00::10'];
const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: 'fd00::/64', ipv6Gateway: 'fd00::fff7' };
const never = new AbortController().signal;

/** A host with one ENI set up and one pod attached. */
async function hostWithPod(t: Test) {
  const host = new TestNamespace(t, 'host');
  const inPod = new TestNamespace(t, 'pod');
  host.ip('link', 'add', 'eth1', 'address', MAC, 'type', 'veth', 'peer', 'name', 'eth1far');
  host.ip('link', 'set', 'eth1far', 'up');
  const kernel = new HostKernel(libc, {
    ...{ eniKinds: ['device', 'veth'], pollMs: 20, watchMs: 10, replyPaths: false, ipv6: true },
  });
  await host.run(() => kernel.prepareHost());
  const eni = { mac: MAC, subnet, nodeIp: '10.0.0.5', mtu: 1400 };
  const { routeTable } = await host.run(() => kernel.setUpEni({ ...eni, routeTable: null }, never));
  const sandbox = {
    containerId: 'sandbox-1',
    ifName: 'eth0',
    netns: inPod.path,
    network: 'net',
    pod: { namespace: 'default', name: 'web-0', uid: null },
  };
  const namespace = new PodNamespace(libc, inPod.path);
  const plan = podPlan({ sandbox, ips: IPS, routeTable, mtu: 1400, defaultRoute: true });
  const { hostName } = host.run(() => new PodNetwork(libc).attach(plan, namespace));
  namespace.close();
  const pod = (standing: Standing): PodKept => ({ sandbox, ips: IPS, routeTable, standing });
  const wanted = (more: Partial<HostWanted> = {}): HostWanted => ({
    enis: [{ ...eni, routeTable, ips: ['192.168.0.9', ...IPS], freeIps: ['192.168.0.9'] }],
    pods: [pod('seen')],
    claimed: new Set([sandboxKey(sandbox)]),
    dead: [],
    heldOff: new Set(),
    thorough: true,
    ...more,
  });
  const keep = (more: Partial<HostWanted> = {}) => host.run(() => kernel.keep(wanted(more)));
  return { host, inPod, kernel, sandbox, hostName, routeTable, pod, keep };
}

test('keep: what is whole is left alone, byte for byte, and said to be whole', { skip }, async (t) => {
  const { host, keep, sandbox, pod } = await hostWithPod(t);
  const before = host.state();
  const kept = { drifts: [], whole: [sandboxKey(sandbox)], begun: [], unclaimed: [] };
  t.strictSame(await keep(), kept);
  t.strictSame(await keep({ pods: [pod('young')] }), kept, 'so that it is known to be made from now on');
  t.equal(host.state(), before);
});

test('keep: settings of the host that an agent puts back are mended, those that are not ours stay (F5)', {
  skip,
}, async (t) => {
  const { host, keep } = await hostWithPod(t);
  host.ip('link', 'add', 'ens5', 'type', 'veth', 'peer', 'name', 'ens5far');
  for (const device of ['ens5', 'ens5far']) host.ip('link', 'set', device, 'up');
  host.ip('route', 'add', 'default', 'dev', 'ens5');
  const path = (rest: string): string => `/proc/sys/net/${rest}`;
  const read = (rest: string): string => host.run(() => readFileSync(path(rest), 'utf8').trim());
  const put = (rest: string, value: string): void => host.run(() => writeFileSync(path(rest), value));
  put('ipv6/conf/ens5/accept_ra', '1');
  put('ipv4/conf/ens5/rp_filter', '1');
  put('ipv4/conf/all/rp_filter', '1');
  put('ipv4/conf/eth1/rp_filter', '2'); // as `all` asks for by now
  const kinds = async (more = {}) => (await keep(more)).drifts.map(({ kind, object }) => `${kind} ${object}`);
  t.strictSame(await kinds({ pods: [], thorough: false }), [], 'no event tells of it: a sweep finds it');
  t.strictSame(await kinds({ pods: [] }), [`hostSetting ${path('ipv6/conf/ens5/accept_ra')}`]);
  t.equal(read('ipv6/conf/ens5/accept_ra'), '2', 'or its default route would end');
  put('ipv4/ip_forward', '0');
  put('ipv6/conf/all/forwarding', '0');
  t.ok((await kinds({ pods: [] })).includes(`hostSetting ${path('ipv4/ip_forward')}`));
  t.equal(read('ipv4/ip_forward'), '1');
  t.equal(read('ipv6/conf/all/forwarding'), '1');
  t.equal(read('ipv4/conf/ens5/rp_filter'), '1', 'a device of the host’s is its own');
  t.equal(read('ipv4/conf/all/rp_filter'), '1');
  t.strictSame(await kinds({ pods: [], heldOff: new Set() }), [], 'and that is all');
});

test('keep: of a pod on the network itself the host’s route is kept, and no rule leads its traffic', {
  skip,
}, async (t) => {
  const { host, keep, hostName } = await hostWithPod(t);
  host.ip('link', 'set', hostName, 'group', `${DIRECT_GROUP}`);
  const { drifts } = await keep();
  t.strictSame(new Set(drifts.map(({ kind }) => kind)), new Set(['podRule']), 'rules of an earlier life go');
  for (const family of ['-4', '-6']) t.notMatch(host.ip(family, 'rule'), /(192\.168\.0\.10|fd00::10)/);
  host.ip('route', 'del', IPS[0] ?? '', 'dev', hostName);
  t.match((await keep()).drifts, [{ kind: 'podRoute', outcome: 'repaired' }]);
  t.strictSame((await keep()).drifts, []);
});

test('keep: each thing that is broken is mended and nothing else is touched', { skip }, async (t) => {
  const { host, keep, hostName, routeTable } = await hostWithPod(t);
  // What others have: none of it looks like ours, or it looks like ours and is not.
  host.ip('link', 'add', 'calideadbeef00a', 'type', 'veth', 'peer', 'name', 'other');
  host.ip('link', 'set', 'calideadbeef00a', 'alias', 'enactor:default/other eth0 sandbox-9', 'up');
  host.ip('route', 'add', '192.168.0.77/32', 'dev', 'calideadbeef00a');
  host.ip('rule', 'add', 'from', '192.168.0.77', 'priority', '2048', 'table', '1500');
  host.ip('rule', 'add', 'from', '172.16.0.0/12', 'priority', '2048', 'table', '1500');
  // About an address that nobody holds: the first leads where no ENI's table is, the second asks for more, the third comes behind such a one.
  host.ip('rule', 'add', 'from', '192.168.0.9', 'priority', '2048', 'table', '99');
  host.ip('rule', 'add', 'from', '192.168.0.9', 'fwmark', '0x10', 'priority', '2048', 'table', '1500');
  host.ip('rule', 'add', 'from', '192.168.0.9', 'priority', '2048', 'table', '1500');
  host.ip('rule', 'add', 'to', '192.168.0.10', 'priority', '700', 'table', 'main');
  host.ip('route', 'add', '10.99.0.0/16', 'via', '192.168.0.253', 'dev', 'eth1', 'onlink');
  host.ip('route', 'add', 'default', 'dev', 'eth1far', 'metric', '9');
  const before = host.state();
  const breaks: [string, string[][], string[]][] = [
    ['the ENI goes down', [['link', 'set', 'eth1', 'down']], ['eniDown', 'eniRoute', 'eniRoute', 'eniRoute']],
    ['its MTU', [['link', 'set', 'eth1', 'mtu', '1500']], ['eniMtu']],
    ['its table', [['route', 'flush', 'table', `${routeTable}`]], ['eniRoute']],
    ['its IPv6 table', [['-6', 'route', 'flush', 'table', `${routeTable}`]], ['eniRoute', 'eniRoute']],
    ['the node’s address', [['addr', 'del', '10.0.0.5/32', 'dev', 'eth1']], ['eniAddress', 'eniRoute']],
    ['the pod’s route', [['route', 'del', IPS[0] ?? '', 'dev', hostName]], ['podRoute']],
    ['its IPv6 route', [['-6', 'route', 'del', IPS[1] ?? '', 'dev', hostName]], ['podRoute']],
    ['a rule', [['rule', 'del', 'from', IPS[0] ?? '', 'priority', '2048']], ['podRule']],
    [
      'both IPv6 rules',
      [
        ['-6', 'rule', 'del', 'from', IPS[1] ?? ''],
        ['-6', 'rule', 'del', 'to', IPS[1] ?? ''],
      ],
      ['podRule', 'podRule'],
    ],
    [
      'a rule that leads elsewhere',
      [['rule', 'add', 'from', IPS[0] ?? '', 'priority', '2048', 'table', '1999']],
      ['podRule'],
    ],
    ['the pod’s device', [['link', 'set', hostName, 'down']], ['podDown', 'podRoute', 'podRoute']],
    ['the route to another pod', [['route', 'replace', `${IPS[0]}/32`, 'dev', 'calideadbeef00a']], ['podRoute']],
  ];
  for (const [what, commands, kinds] of breaks) {
    for (const command of commands) host.ip(...command);
    const { drifts } = await keep();
    // The kernel took somebody's route over the ENI with the device or the address: that is theirs to make again.
    host.ip('route', 'replace', '10.99.0.0/16', 'via', '192.168.0.253', 'dev', 'eth1', 'onlink');
    t.strictSame(drifts.map(({ kind }) => kind).sort(), kinds.sort(), what);
    t.ok(
      drifts.every(({ outcome }) => outcome === 'repaired'),
      `${what}: ${JSON.stringify(drifts)}`,
    );
    t.equal(sorted(host.state()), sorted(before), what);
    t.strictSame((await keep()).drifts, [], `${what}: nothing is left to do`);
  }
});

/** Less what the kernel makes for IPv6 by itself, a moment later. */
const sorted = (state: string): string =>
  state
    .split('\n')
    .filter((line) => !line.includes('fe80:'))
    .map((line) => line.trimEnd())
    .sort()
    .join('\n');

test('keep: a sandbox that may be being made or held off is not touched', { skip }, async (t) => {
  const { host, keep, sandbox, hostName, pod, routeTable } = await hostWithPod(t);
  host.ip('rule', 'del', 'from', '192.168.0.10', 'priority', '2048');
  const before = host.state();
  const begun = [sandboxKey(sandbox)];
  t.strictSame(await keep({ pods: [pod('young')] }), { drifts: [], whole: [], begun, unclaimed: [] });
  t.strictSame(
    await keep({ pods: [] }),
    { drifts: [], whole: [], begun: [], unclaimed: [] },
    'nor one that is being released',
  );
  const object = `2048 from 192.168.0.10/32 lookup ${routeTable}`;
  const held = await keep({ heldOff: new Set([repairKey({ kind: 'podRule', object })]) });
  t.match(held.drifts, [{ kind: 'podRule', object, pod: 'default/web-0', outcome: 'heldOff' }]);
  t.equal(host.state(), before);
  t.match((await keep({ pods: [pod('old')] })).drifts, [{ kind: 'podRule', outcome: 'repaired' }]);
  host.ip('link', 'set', hostName, 'alias', 'not yet ours');
  host.ip('rule', 'del', 'from', '192.168.0.10', 'priority', '2048');
  t.strictSame((await keep({ pods: [pod('young')] })).begun, [], 'a device without the mark may be a moment old');
});

test('keep: what a released sandbox left goes, both families; what is nobody’s is told and stays', {
  skip,
}, async (t) => {
  const { host, inPod, keep, sandbox, hostName } = await hostWithPod(t);
  host.ip('rule', 'add', 'from', '192.168.0.9', 'priority', '2048', 'table', '1500'); // the address is free
  host.ip('rule', 'add', 'to', '192.168.0.9', 'priority', '512', 'table', 'main');
  const foreign = { pods: [], claimed: new Set<string>() };
  const { unclaimed, drifts } = await keep(foreign);
  t.match(unclaimed, [{ sandbox: { containerId: 'sandbox-1', ifName: 'eth0', pod: { name: 'web-0' } } }]);
  t.strictSame([...(unclaimed[0]?.ips ?? [])].sort(), [...IPS].sort());
  t.strictSame(
    drifts.map(({ kind }) => kind),
    ['leftover', 'leftover'],
    'the rules of the free address',
  );
  t.notMatch(host.ip('rule'), /192\.168\.0\.9 /);
  t.match(host.ip('link'), new RegExp(hostName), 'the device stays until somebody says that it is dead');

  host.ip('link', 'set', hostName, 'alias', 'enactor:default/web-0 eth0 sandbox-2');
  t.strictSame((await keep(foreign)).unclaimed, [], 'a mark without its MAC proves nothing');
  t.match((await keep({ ...foreign, dead: [{ sandbox, ips: IPS }] })).drifts, [
    { kind: 'leftover', outcome: 'repaired' },
  ]);
  t.notMatch(host.ip('link'), new RegExp(hostName));
  t.notMatch(`${host.ip('rule')}${host.ip('-6', 'rule')}`, /192\.168\.0\.10|fd00::10/);
  t.notMatch(inPod.ip('link'), /eth0/);
  t.strictSame((await keep({ ...foreign, dead: [{ sandbox, ips: IPS }] })).drifts, [], 'again, with nothing there');
});

test('keep: addresses of pods and default routes that an agent put on the ENI go, and it is named', {
  skip,
}, async (t) => {
  const { host, keep } = await hostWithPod(t);
  const before = host.state();
  host.ip('addr', 'add', '192.168.0.9/24', 'dev', 'eth1', 'valid_lft', '600', 'preferred_lft', '600');
  host.ip('addr', 'add', 'fd00::10/64', 'dev', 'eth1', 'nodad');
  host.ip('route', 'add', 'default', 'via', '192.168.0.253', 'dev', 'eth1', 'proto', 'dhcp', 'metric', '100');
  host.ip('route', 'add', '169.254.169.254', 'dev', 'eth1', 'proto', 'dhcp', 'metric', '100');
  const { drifts } = await keep();
  t.strictSame(drifts.map(({ kind }) => kind).sort(), [
    'foreignAddress',
    'foreignAddress',
    'foreignRoute',
    'foreignRoute',
  ]);
  t.ok(
    drifts.every(({ outcome }) => outcome === 'repaired'),
    JSON.stringify(drifts),
  );
  t.match(drifts[0]?.detail, /DHCP client.*lifetime.*proto dhcp/);
  t.equal(host.state(), before);
});

test('keep: a pod whose device is gone is told once it was seen, and nothing is made for it', { skip }, async (t) => {
  const { host, keep, hostName, pod } = await hostWithPod(t);
  host.ip('link', 'del', hostName);
  const before = host.state();
  t.match((await keep()).drifts, [{ kind: 'podDevice', object: 'default/web-0', outcome: 'beyondRepair' }]);
  t.strictSame((await keep({ pods: [pod('old')] })).drifts, [], 'one that was never seen may be another plugin’s');
  t.equal(host.state(), before);
});

test('watch: what may be drift is told soon, a pod being made is not', {
  skip,
}, async (t) => {
  const { host, kernel, hostName } = await hostWithPod(t);
  let told = 0;
  const stop = host.run(() =>
    kernel.watch(() => {
      told += 1;
    }),
  );
  t.teardown(stop);
  const after = async (work: () => void): Promise<number> => {
    told = 0;
    work();
    for (let tries = 0; tries < 200 && told === 0; tries += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    return told;
  };
  const quiet = async (work: () => void): Promise<number> => {
    told = 0;
    work();
    await new Promise((resolve) => setTimeout(resolve, 60));
    return told;
  };
  await quiet(() => undefined);
  t.equal(await quiet(() => host.ip('rule', 'add', 'from', '192.168.0.11', 'priority', '2048', 'table', '1500')), 0);
  t.equal(await quiet(() => host.ip('route', 'add', '192.168.0.11', 'dev', hostName)), 0);
  t.ok(await after(() => host.ip('rule', 'del', 'from', '192.168.0.11', 'priority', '2048')));
  t.ok(await after(() => host.ip('route', 'del', '192.168.0.11', 'dev', hostName)));
  t.ok(await after(() => host.ip('link', 'set', 'eth1', 'down')));
  t.ok(await after(() => host.ip('link', 'set', 'eth1', 'up')));
  t.ok(await after(() => host.ip('addr', 'add', '192.168.0.9/24', 'dev', 'eth1')));
  await quiet(() => undefined);
  t.ok(await after(() => host.ip('route', 'add', 'default', 'via', '192.168.0.253', 'dev', 'eth1', 'metric', '100')));
  t.ok(await after(() => host.ip('link', 'del', hostName)));
  stop();
  t.equal(await quiet(() => host.ip('link', 'set', 'eth1', 'down')), 0, 'nobody listens any more');
});

test('keep: the pair of rules of an address that no ENI has any more goes, one that may be somebody else’s stays', {
  skip,
}, async (t) => {
  const { host, keep, routeTable } = await hostWithPod(t);
  const pair = (ip: string, table: string, to = 'main') => {
    host.ip('rule', 'add', 'to', ip, 'priority', '512', 'table', to);
    host.ip('rule', 'add', 'from', ip, 'priority', '2048', 'table', table);
  };
  host.ip('rule', 'add', 'from', '192.168.9.1', 'priority', '2048', 'table', '1500'); // half of a pair
  pair('192.168.9.2', '1501'); // its table leads somewhere, and is of no ENI here
  host.ip('route', 'add', 'default', 'dev', 'eth1far', 'table', '1501');
  pair('192.168.9.3', '99'); // no ENI's table
  pair('192.168.9.4', '1500', '77'); // not our way to a pod
  pair('192.168.9.5', '1500');
  host.ip('route', 'add', '192.168.9.5', 'dev', 'eth1far'); // somebody leads there
  t.strictSame((await keep()).drifts, [], 'whose it is cannot be told');
  pair('192.168.9.6', '1500');
  pair('192.168.9.7', `${routeTable}`); // an ENI's own, which does not have the address
  t.strictSame((await keep({ thorough: false })).drifts, []);
  const { drifts } = await keep();
  t.match(drifts, [
    { kind: 'leftover', detail: 'no ENI here has the address', outcome: 'repaired' },
    ...Array.from({ length: 3 }, () => ({ kind: 'leftover', outcome: 'repaired' })),
  ]);
  t.equal(drifts.length, 4);
  t.notMatch(host.ip('rule'), /192\.168\.9\.[67]/);
  for (const last of [1, 2, 3, 4, 5]) t.match(host.ip('rule'), new RegExp(`192\\.168\\.9\\.${last} `));
});

/** As Terway's plugin leaves it: no mark, a MAC of the kernel's. */
function madeByTerway(host: TestNamespace, hostName: string, old: readonly string[]): void {
  host.ip('link', 'set', hostName, 'down');
  host.ip('link', 'set', hostName, 'address', '02:00:00:00:00:77', 'alias', '');
  host.ip('link', 'set', hostName, 'up');
  for (const family of ['-4', '-6'])
    for (const priority of ['512', '2048']) host.ip(family, 'rule', 'del', 'priority', priority);
  host.batch(old);
}

test('keep: a pod that Terway’s v1.0.10 or v1.2 made has its own rules until it is released, and ours beside them', {
  skip,
}, async (t) => {
  const { host, keep, pod, sandbox, hostName, routeTable } = await hostWithPod(t);
  const ip = '192.168.0.10';
  madeByTerway(host, hostName, [
    `route replace ${ip}/32 dev ${hostName} table ${routeTable}`,
    `rule add to ${ip} lookup ${routeTable}`,
    `rule add from ${ip} lookup ${routeTable}`,
    `rule add from ${ip} iif ${hostName} lookup ${routeTable} priority 2048`,
    `rule add from ${ip} lookup 77 priority 100`,
    `rule add from ${ip} lookup 1500 priority 50`,
  ]);
  const about = () =>
    host
      .ip('rule')
      .split('\n')
      .filter((line) => line.includes(ip));
  t.equal(about().length, 5);
  const { routeTable: again } = await host.run(() =>
    new HostKernel(libc, { eniKinds: ['veth'] }).setUpEni(
      { mac: MAC, subnet, nodeIp: '10.0.0.5', mtu: 1400, routeTable },
      never,
    ),
  );
  t.equal(again, routeTable, 'a start of ours takes the ENI’s table for the ENI’s, though pods have routes there');
  const { drifts } = await keep({ pods: [pod('old')] });
  t.ok(
    drifts.every(({ outcome }) => outcome === 'repaired'),
    'the route in the main table first, or the rule to the pod would lead elsewhere',
  );
  t.strictSame(
    drifts.filter(({ object }) => object.includes(ip)).map(({ kind }) => kind),
    ['podRoute', 'podRule', 'podRule'],
  );
  t.match(host.ip('route', 'get', ip), hostName);
  t.equal(about().length, 7, 'Terway’s stay');
  t.match(await keep({ pods: [pod('old')] }), { drifts: [], whole: [sandboxKey(sandbox)] }, 'it is well now');

  await keep({ pods: [], claimed: new Set(), dead: [{ sandbox, ips: IPS }] });
  t.notMatch(host.ip('-o', 'link'), new RegExp(hostName), 'released: its device goes');
  t.strictSame(
    about().map((line) => line.split(':')[0]),
    ['50', '100'],
    'and all rules but somebody else’s',
  );
});

test('keep: a device of the pod’s name is another one’s, unless the addresses lead to it', { skip }, async (t) => {
  const { host, keep, sandbox, hostName } = await hostWithPod(t);
  madeByTerway(host, hostName, []);
  await keep({ pods: [], claimed: new Set(), dead: [{ sandbox, ips: ['192.168.0.11'] }] });
  t.match(host.ip('-o', 'link'), new RegExp(hostName), 'as that of the pod’s next sandbox');
});
