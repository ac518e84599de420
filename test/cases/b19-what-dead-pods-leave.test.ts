/**
 * B19: what vanished pods leave on a host goes, in both families and also when one deletion fails; live pods' and foreign objects stay byte
 * for byte, in every moment.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { HostKernel } from '../../src/adapters/datapath/host-kernel.ts';
import { podRules } from '../../src/adapters/datapath/pod-plan.ts';
import { sandboxDevice } from '../../src/adapters/datapath/sandbox-device.ts';
import type { Libc } from '../../src/adapters/netlink/libc.ts';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { addRule } from '../../src/adapters/netlink/wire/rule.ts';
import type { NetConf } from '../../src/core/wire.ts';
import { prepareBox } from '../../src/lab/box/inside-box.ts';
import { call, type Machine, machine } from '../daemon/machine.ts';
import { podOnHost } from '../daemon/pod-on-host.ts';

t.setTimeout(120_000);

const libc = openKoffiLibc();
const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });

/** Each family asked for by name: without one `ip` shows IPv4 only. */
const TOLD = [
  ['-4', 'rule'],
  ['-6', 'rule'],
  ['-4', 'route', 'show', 'table', 'all'],
  ['-6', 'route', 'show', 'table', 'all'],
  ['-br', 'link'],
  ['-br', 'addr'],
];

/** Sorted lines; what the kernel makes for IPv6 by itself, a moment later, is left out. */
function state(): string[] {
  const lines = TOLD.flatMap((args) =>
    ip(...args)
      .split('\n')
      .map((line) => `${args[0]} ${line.replace(/linkdown|LOWERLAYERDOWN|NO-CARRIER,|,LOWER_UP|\b(UP|DOWN)\b/g, '')}`),
  );
  return lines
    .map((line) => line.replace(/\s+/g, ' ').trim())
    .filter((line) => !/fe80|ff00::\/8|multicast|^-\w+$/.test(line))
    .sort();
}

type Given = { readonly ips: readonly [ipv4: string, ipv6: string]; readonly routeTable: number };

async function given(here: Machine, pod: string): Promise<Given> {
  here.addPod(pod);
  const { body } = await call(here.paths.jsonSocket, 'AllocIP', pod);
  const conf = (body as { NetConfs?: NetConf[] }).NetConfs?.[0];
  const { IPv4 = '', IPv6 = '' } = conf?.BasicInfo?.PodIP ?? {};
  return { ips: [IPv4, IPv6], routeTable: conf?.ENIInfo?.RouteTable ?? 0 };
}

const named = (name: string) => ({
  containerId: `sandbox-${name}`,
  ifName: 'eth0',
  pod: { namespace: 'default', name, uid: null },
});

/** As the plugin leaves it, in both families. */
function onHost(host: Netlink, name: string, { ips: [ipv4, ipv6], routeTable }: Given): string {
  podOnHost(host, named(name), ipv4, routeTable);
  const [device] = sandboxDevice(named(name)).hostNames;
  ip('-6', 'route', 'add', `${ipv6}/128`, 'dev', device);
  host.apply(podRules(ipv6, routeTable).map(addRule));
  return device;
}

/** What others have on this host, as near to ours as it can be. */
function foreign(live: Given, dead: Given): void {
  for (const [family, liveIp, deadIp, elsewhere, vip] of [
    ['-4', live.ips[0], dead.ips[0], '10.88.0.7', '10.99.0.1/32'],
    ['-6', live.ips[1], dead.ips[1], 'fd88::7', 'fd99::1/128'],
  ] as const) {
    const rule = (...args: string[]) => ip(family, 'rule', 'add', ...args);
    for (const priority of ['511', '513']) rule('to', deadIp, 'priority', priority, 'lookup', 'main');
    for (const priority of ['2047', '2049']) rule('from', deadIp, 'priority', priority, 'lookup', '1999');
    rule('from', elsewhere, 'priority', '2048', 'lookup', '1999');
    rule('to', elsewhere, 'priority', '512', 'lookup', 'main');
    for (const about of [liveIp, deadIp]) rule('from', about, 'fwmark', '0x10', 'priority', '2048', 'lookup', '1999');
    rule('from', deadIp, 'iif', 'lo', 'priority', '2048', 'lookup', '1998');
    rule('from', deadIp, 'ipproto', 'tcp', 'dport', '53', 'priority', '2048', 'lookup', '1997');
    ip(family, 'route', 'add', vip, 'dev', 'lo');
    ip(family, 'route', 'add', 'blackhole', vip, 'table', '1999');
  }
  ip('link', 'add', 'cali0f0f0f0f0f0', 'type', 'veth', 'peer', 'name', 'theirs');
  ip('link', 'set', 'cali0f0f0f0f0f0', 'alias', 'enactor:default/x eth0 sandbox-x', 'up');
}

/** Both tests with a daemon have one host. */
function wipe(): void {
  for (const line of ip('-br', 'link').split('\n')) {
    const [name = ''] = line.split(/[@ ]/);
    if (name.startsWith('cali')) ip('link', 'del', name);
  }
  for (const [family, vip] of [
    ['-4', '10.99.0.1/32'],
    ['-6', 'fd99::1/128'],
  ] as const) {
    const priorities = ip(family, 'rule').matchAll(/^(\d+):/gm);
    for (const [, priority = ''] of priorities)
      if (priority !== '0' && Number(priority) < 32_766) ip(family, 'rule', 'del', 'priority', priority);
    ip(family, 'route', 'del', vip, 'dev', 'lo');
    ip(family, 'route', 'flush', 'table', '1999');
  }
}

t.test('B19: the sets of dead pods go, those of live ones and of others stay', async (t) => {
  const here = await machine(t, {
    ...{ ip_stack: 'dual', kernel_gather: '20ms', kernel_period: '300ms', leftover_grace: '200ms' },
    ...{ gc_period: '200ms', gc_grace: '100ms', max_eni: 1, max_pool_size: 20 },
  });
  const daemon = here.start();
  await daemon.serving();
  const host = new Netlink(libc);
  t.teardown(() => host.close());
  const live = new Map<string, Given>();
  for (const name of ['live-0', 'live-1', 'live-2']) {
    const pod = await given(here, name);
    onHost(host, name, pod);
    live.set(name, pod);
  }
  const [vanished, released] = [await given(here, 'vanished'), await given(here, 'released')];
  const [first] = live.values();
  if (first === undefined) throw new Error('no pod lives');
  foreign(first, vanished);
  t.teardown(wipe);
  const before = state();

  const device = onHost(host, 'vanished', vanished);
  onHost(host, 'released', released);
  // As from a life in which the ENI had another table, over a device that is no more.
  for (const [at, family] of (['-4', '-6'] as const).entries())
    ip(family, 'rule', 'add', 'from', vanished.ips[at] ?? '', 'priority', '2048', 'lookup', '1777');
  const dead = [...vanished.ips, ...released.ips];
  t.equal(state().filter((line) => !before.includes(line)).length > 3 * dead.length, true, 'four sets are there');

  // One pod's namespace goes without a DEL and nobody knows it any more; the other's plugin was killed after its first step.
  ip('link', 'del', device);
  here.removePod('vanished');
  t.match(await call(here.paths.jsonSocket, 'ReleaseIP', 'released'), { status: 200 });
  const missing = new Set<string>();
  let now: string[] = [];
  await daemon.until(async () => {
    now = state();
    for (const line of before) if (!now.includes(line)) missing.add(line);
    return now.every((line) => before.includes(line));
  });
  t.strictSame([...missing], [], 'nothing of live pods or of others was away for a moment');
  t.strictSame(now, before, 'and exactly the four sets are gone');
  const { leases, host: kept } = await daemon.report();
  t.strictSame(leases.map(({ sandbox }) => sandbox.pod.name).sort(), [...live.keys()]);
  t.ok(
    kept?.things.some(({ kind }) => kind === 'leftover'),
    'and it was told',
  );
  // A thorough look later it is the same.
  const thorough = Date.now();
  await daemon.until(async () => Date.now() - thorough > 400 && (await daemon.report()).state.includes('serving'));
  t.strictSame(state(), before);
});

/** With everything that remembers a sandbox gone but the record of its release: its lease, its rest, its address, the process that released it. */
t.test('B19: what a sandbox left goes after a restart too, also when its address is nobody’s by then', async (t) => {
  const config = {
    ...{ ip_stack: 'dual', kernel_gather: '20ms', kernel_period: '300ms', cool_down: '50ms', pool_period: '100ms' },
    ...{ gc_period: '200ms', gc_grace: '100ms', max_eni: 1, max_pool_size: 0, eni_min_age: '0s' },
  };
  const here = await machine(t, { ...config, leftover_grace: '1h' });
  let daemon = here.start();
  await daemon.serving();
  const host = new Netlink(libc);
  t.teardown(() => host.close());
  const live = await given(here, 'live-0');
  onHost(host, 'live-0', live);
  const [vanished, released, again] = [
    await given(here, 'vanished'),
    await given(here, 'released'),
    await given(here, 'again'),
  ];
  foreign(live, vanished);
  t.teardown(wipe);
  const before = state();

  for (const [name, each] of [
    ['vanished', vanished] as const,
    ['released', released] as const,
    ['again', again] as const,
  ])
    onHost(host, name, each);
  // One pod's namespace is gone with its device, so that only rules are left; of another one the device is left without its route.
  const [device] = sandboxDevice(named('vanished')).hostNames;
  ip('link', 'del', device);
  for (const family of ['-4', '-6'] as const)
    ip(
      family,
      'route',
      'del',
      family === '-4' ? released.ips[0] : released.ips[1],
      'dev',
      sandboxDevice(named('released')).hostNames[0],
    );
  for (const name of ['vanished', 'released', 'again'])
    t.match(await call(here.paths.jsonSocket, 'ReleaseIP', name), { status: 200 });
  const gone = [...vanished.ips, ...released.ips, ...again.ips];
  await daemon.until(async () => {
    const has = here.cloud.model.truth(Date.now()).enis.flatMap(({ ipv4, ipv6 }) => [...ipv4, ...ipv6]);
    return gone.every((each) => !has.includes(each));
  });
  t.ok(
    state().some((line) => line.includes(vanished.ips[0])),
    'the host still has it',
  );
  await daemon.kill();

  const file = `${here.dir}/eni_conf`;
  const written = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...written, leftover_grace: '200ms' }));
  daemon = here.start();
  await daemon.serving();
  const missing = new Set<string>();
  let now: string[] = [];
  await daemon.until(async () => {
    now = state();
    for (const line of before) if (!now.includes(line)) missing.add(line);
    return now.every((line) => before.includes(line));
  });
  t.strictSame([...missing], [], 'nothing of the live pod or of others was away for a moment');
  t.strictSame(now, before);
  const { leases } = await daemon.report();
  t.strictSame(
    leases.map(({ sandbox }) => sandbox.pod.name),
    ['live-0'],
  );
});

/** struct nlmsghdr, then struct fib_rule_hdr: family, length of the destination, of the source. */
const RTM_DELRULE = 33;
const isDeleteRule = (bytes: Uint8Array): boolean => (bytes[4] ?? 0) + 256 * (bytes[5] ?? 0) === RTM_DELRULE;

t.test('B19: a deletion that finds nothing, or that the kernel refuses, stops no other', async (t) => {
  prepareBox();
  const host = new Netlink(libc);
  t.teardown(() => host.close());
  const dead = ['10.77.0.1', '10.77.0.2', 'fd77::1', 'fd77::2'].map((each, at) => ({
    sandbox: named(`dead-${at}`),
    ips: [each],
  }));
  const wanted = { enis: [], pods: [], claimed: new Set<string>(), dead, heldOff: new Set<string>(), thorough: true };
  const before = state();
  /** What is done to the first request to delete a rule. */
  const disturbed = (disturb: (bytes: Uint8Array) => Uint8Array): Libc => {
    let done = false;
    return {
      setns: (fd) => libc.setns(fd),
      socket: (...args) => libc.socket(...args),
      setsockopt: (...args) => libc.setsockopt(...args),
      bind: (...args) => libc.bind(...args),
      recv: (...args) => libc.recv(...args),
      sendto: (fd, bytes, address) => {
        const hit = !done && isDeleteRule(bytes);
        done ||= hit;
        return libc.sendto(fd, hit ? disturb(bytes) : bytes, address);
      },
    };
  };
  const rulesOfAll = (): void =>
    void host.apply(dead.flatMap(({ ips: [each = ''] }) => podRules(each, 1777)).map(addRule));

  rulesOfAll();
  const removing = disturbed((bytes) => {
    ip('rule', 'del', 'to', '10.77.0.1', 'priority', '512');
    return bytes;
  });
  const { drifts } = await new HostKernel(removing).keep(wanted);
  t.strictSame(
    drifts.map(({ kind, outcome }) => `${kind} ${outcome}`),
    Array.from(dead, () => 'leftover repaired'),
    'somebody was faster',
  );
  t.strictSame(state(), before);

  rulesOfAll();
  const refusing = disturbed((bytes) => {
    const wrong = Uint8Array.from(bytes);
    wrong[17] = 99; // no IPv4 prefix is that long
    return wrong;
  });
  const refused = (await new HostKernel(refusing).keep(wanted)).drifts;
  t.strictSame(
    refused.map(({ outcome }) => outcome),
    ['failed', 'repaired', 'repaired', 'repaired'],
  );
  t.match(refused[0]?.detail, /delete rule.*10\.77\.0\.1/);
  t.strictSame(
    state().filter((line) => !before.includes(line)),
    ['-4 512: from all to 10.77.0.1 lookup main'],
    'one rule is left, the set’s other one is gone',
  );
  t.match((await new HostKernel(libc).keep(wanted)).drifts, [{ kind: 'leftover', outcome: 'repaired' }]);
  t.strictSame(state(), before, 'and goes with the next look');
});
