/**
 * What else is on a node beside this network, in one lab of two nodes whose ENIs come with an MTU of 8500 and whose configuration says 1500:
 * P4, a kube-proxy that takes pods for outsiders; P18, MTUs; P19, DNS on the node; P20, a pod that reaches itself; P21, Felix.
 */
import '../lab/in-box.ts';

import { closeSync, readFileSync, writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { CheckResult } from '../../src/cli/doctor/check.ts';
import { proxyResults, proxyRules } from '../../src/cli/doctor/kube-proxy.ts';
import { SERVICE_PATHS } from '../../src/lab/checks/service-paths.ts';
import { type Scene, startScene, WITH, WITHOUT } from '../../src/lab/checks/service-scene.ts';
import { aimOf, type FormVerdict, RIGHT_CIDR, tryForm, withProxies } from '../../src/lab/checks/try-service-paths.ts';
import { OUTSIDE } from '../../src/lab/edge/edge.ts';
import type { LabPod } from '../../src/lab/kubelet/lab-pod.ts';
import { packetSocket, readFrame } from '../../src/lab/netns/libc.ts';
import type { Netns } from '../../src/lab/netns/netns.ts';
import { ask } from '../../src/lab/probe/ask.ts';
import { EchoSocket } from '../../src/lab/probe/echo-socket.ts';
import { PROXY_FORMS } from '../../src/lab/services/kube-proxy.ts';
import type { LocalTraffic } from '../../src/lab/services/local-traffic.ts';
import { missingForServices } from '../../src/lab/services/needs.ts';
import { runInside } from '../../src/lab/services/run-inside.ts';
import { cannotWalk, eventually, Ping } from '../lab/whole-path.ts';
import { Felix } from './felix.ts';
import { pause, sped } from './speed.ts';

t.setTimeout(300_000);
const missing = missingForServices();
const skip = cannotWalk() || (missing !== null && `NOT RUN: ${missing}`);
/** Of Felix. Source: RouteRefreshInterval is 90 s, those of chains 10 s or more; cases/field P21 has 10 s. */
const PERIOD_MS = 10_000;
const [NODE_MTU, POD_MTU] = [8_500, 1_500];

t.test('what else is on a node', { skip }, async (t) => {
  const config = { mtu: POD_MTU, kernel_period: `${sped(60_000)}ms`, kernel_gather: '20ms', repair_wait: '50ms' };
  const scene = await startScene({ eniMtu: NODE_MTU, config });
  try {
    // First of all: a kernel that has sent a pod redirects sends it fewer afterwards.
    await t.test('P20: a pod reaches itself, and is told of no better way', (t) => hairpin(t, scene));
    await t.test('P4: a range that does not hold the pods: backends see the node', (t) => wrongRange(t, scene));
    await t.test('P19: DNS on 169.254.20.10 answers pods', (t) => nodeLocalDns(t, scene));
    await t.test('P21: Felix', (t) => withFelix(t, scene));
    await t.test('P18: MTUs', (t) => mtus(t, scene));
  } finally {
    t.strictSame(await scene.lab.stop(), [], 'nothing is left behind');
  }
});

const podIn = ({ lab, places }: Scene, name: string): LabPod => {
  const pod = lab.pods.get(places.get(name) ?? name);
  if (pod === undefined) throw new Error(`no pod ${name}`);
  return pod;
};

function netnsIn({ lab, places }: Scene, name: string): Netns {
  const netns = lab.netnsOf(places.get(name) ?? name);
  if (netns === null) throw new Error(`no ${name}`);
  return netns;
}

async function wrongRange(t: Test, scene: Scene): Promise<void> {
  const paths = SERVICE_PATHS.filter(({ target, from }) => target.to === 'clusterIp' && from === 'pod');
  const foreign: LocalTraffic = { by: 'clusterCidr', cidrs: { 4: '10.244.0.0/16', 6: 'fd00:244::/56' } };
  const byDevice: LocalTraffic = { by: 'interfacePrefix', prefix: 'cali' };
  for (const form of PROXY_FORMS) {
    const { verdicts, refused }: FormVerdict = await withProxies(scene, form, foreign, async () => {
      const [found, ...more] = await doctorOf(scene);
      t.strictSame(more, []);
      t.match(found, { check: 'kube-proxy', is: 'warning', says: /for outsiders/, whatToDo: /InterfaceNamePrefix/ });
      t.match(found?.says, '10.244.0.0/16 and fd00:244::/56', `${form}: the doctor names both ranges`);
      return tryForm(scene, form, { paths });
    });
    t.equal(verdicts.length, 8);
    for (const { path, family, at, seen } of verdicts) {
      const expected = path.expected[family];
      t.equal(
        at,
        expected === 'dropped' ? null : expected.at,
        `${form} IPv${family} ${path.words}: it arrives all the same`,
      );
      t.equal(seen, WITH, `${form} IPv${family} ${path.words}: seen as the node`);
    }
    t.equal(refused.routingFault, 0, `${form}: masqueraded packets leave by the node’s own ENI`);
    const mended = await withProxies(scene, form, byDevice, async () => {
      t.match(await doctorOf(scene), [{ is: 'ok', says: 'names no range of pods' }], `${form}: the doctor is content`);
      return tryForm(scene, form, { paths });
    });
    await withProxies(scene, form, RIGHT_CIDR, async () => t.match(await doctorOf(scene), [{ is: 'ok' }]));
    for (const { path, family, ok, why } of mended.verdicts)
      t.ok(ok, `${form} IPv${family} ${path.words}: told by the device, as it should be ${why}`);
  }
}

/** What `enactor doctor` finds of kube-proxy on the node: its rules are read there, as it would. */
async function doctorOf({ lab }: Scene): Promise<readonly CheckResult[]> {
  const node = lab.node(WITH);
  const report = await node.report();
  if (report === null) throw new Error('the daemon cannot be asked');
  return proxyResults(report, node.guest.netns.run(proxyRules));
}

/** As node-local-dns sets itself up: its address on a device of its own, packets to it exempt from connection tracking. */
async function nodeLocalDns(t: Test, scene: Scene): Promise<void> {
  const [address, port] = ['169.254.20.10', 53];
  const { netns } = scene.lab.node(WITH).guest;
  await runInside(netns, 'ip', ['addr', 'add', `${address}/32`, 'dev', 'lo', 'scope', 'host']);
  const rules = [
    `-A PREROUTING -d ${address}/32 -p udp --dport ${port} -j NOTRACK`,
    `-A OUTPUT -s ${address}/32 -p udp --sport ${port} -j NOTRACK`,
  ];
  await runInside(netns, 'iptables-restore', ['--noflush'], `*raw\n${rules.join('\n')}\nCOMMIT\n`);
  const dns = await EchoSocket.open(netns, [4], 'dns', { address, port });
  try {
    for (const form of PROXY_FORMS) {
      await withProxies(scene, form, RIGHT_CIDR, async () => {
        for (const name of ['pod', 'other']) {
          const result = await ask(netnsIn(scene, name), { address, port, timeoutMs: 4_000 });
          t.match(
            result,
            { place: 'dns', answeredBy: address, sourceSeen: podIn(scene, name).ips[0] },
            `${form}: ${name}`,
          );
        }
      });
    }
    t.match(
      await ask(netnsIn(scene, 'far'), { address, port, timeoutMs: 500 }),
      { reached: false },
      'not the next node’s',
    );
  } finally {
    await dns.close();
    await runInside(netns, 'iptables', ['-t', 'raw', '-F']);
    await runInside(netns, 'ip', ['addr', 'del', `${address}/32`, 'dev', 'lo']);
  }
}

async function hairpin(t: Test, scene: Scene): Promise<void> {
  const { netns } = scene.lab.node(WITH).guest;
  const device = await caliOf(scene, 'pod');
  t.equal(
    netns.run(() => readFileSync('/proc/sys/net/ipv4/conf/all/send_redirects', 'utf8').trim()),
    '1',
    'a node that would send redirects, as kernels do by default',
  );
  const pod = netnsIn(scene, 'pod');
  const watch = pod.run(() => packetSocket(1 << 20));
  try {
    await withProxies(scene, 'iptables', RIGHT_CIDR, async () => {
      for (const family of [4, 6] as const) {
        const aim = aimOf(scene, { to: 'clusterIp', service: 'self' }, family);
        if (aim === null) throw new Error('the service has no address');
        for (let time = 0; time < 4; time += 1) {
          const result = await ask(pod, { ...aim, timeoutMs: 4_000 });
          t.match(result, { reached: true, place: podIn(scene, 'pod').name }, `IPv${family}: it reaches itself`);
        }
      }
    });
    let [frames, redirects] = [0, 0];
    for (let frame = readFrame(watch); frame !== null; frame = readFrame(watch)) {
      frames += 1;
      if (isRedirect(frame.bytes)) redirects += 1;
    }
    t.ok(frames >= 32, `its packets were seen, ${frames}`);
    t.equal(redirects, 0, `no redirect came from ${device}`);
    // Without our rule there are some: what is asserted could fail.
    t.ok((await redirectsMade(netns)) > 0, 'the kernel did make some, and our rule ended them');
  } finally {
    closeSync(watch);
  }
}

async function redirectsMade(netns: Netns): Promise<number> {
  const rules = await runInside(netns, 'cat', ['/proc/net/snmp']);
  const [names = [], figures = []] = [...rules.matchAll(/^Icmp: (.*)$/gm)].map(([, text]) => (text ?? '').split(' '));
  return Number(figures[names.indexOf('OutRedirects')] ?? 0);
}

/** ICMP type 5, or ICMPv6 type 137. */
function isRedirect(bytes: Buffer): boolean {
  const type = bytes.readUInt16BE(12);
  if (type === 0x0800) return bytes[23] === 1 && bytes[14 + ((bytes[14] ?? 0) & 15) * 4] === 5;
  return type === 0x86dd && bytes[20] === 58 && bytes[54] === 137;
}

async function caliOf(scene: Scene, name: string): Promise<string> {
  const { netns } = scene.lab.node(WITH).guest;
  const route = await runInside(netns, 'ip', ['-4', 'route', 'show', podIn(scene, name).ips[0] ?? '']);
  return /dev (cali\w+)/.exec(route)?.[1] ?? '';
}

async function withFelix(t: Test, scene: Scene): Promise<void> {
  const { lab } = scene;
  const node = lab.node(WITH);
  const workloads = await Promise.all(
    ['pod', 'mate', 'other'].map(async (name) => ({ device: await caliOf(scene, name), ips: podIn(scene, name).ips })),
  );
  const [from, to] = [podIn(scene, 'mate').ips, podIn(scene, 'pod').ips];
  const felix = new Felix(node.guest.netns, workloads, { from, to });
  await felix.resync();
  const before = (await node.report())?.host;
  const pings = ['pod', 'other'].flatMap((name) =>
    podIn(scene, 'far').ips.map((ip, index) => {
      const { echo, ips } = podIn(scene, name);
      if (echo === null) throw new Error(`${name} does not run`);
      return new Ping(echo, ip, ips[index] ?? '', 20);
    }),
  );
  const PERIODS = 12;
  const sinceMs = performance.now();
  felix.start(sped(PERIOD_MS));
  const refusedBefore = lab.refused().routingFault;
  let denied = 0;
  while (felix.resyncs <= PERIODS) {
    for (const address of to)
      t.match(
        await ask(netnsIn(scene, 'mate'), { address, timeoutMs: 150, attempts: 2 }),
        { reached: false },
        'the policy’s drop holds',
      );
    denied += 1;
    await pause(2_000);
  }
  for (const ping of pings) {
    const { sent, lost } = await ping.stop();
    t.ok(sent > 20, `${sent} pings`);
    t.strictSame(lost, [], 'none was lost');
  }
  t.ok(denied > 0);
  await felix.stop();
  const after = (await node.report())?.host;
  const repairs = (after?.repairs ?? 0) - (before?.repairs ?? 0);
  // Of time, since a resync of the double takes longer than a scaled period where the machine is busy.
  const periods = Math.ceil((performance.now() - sinceMs) / sped(PERIOD_MS));
  t.ok(repairs <= periods, `at most one repair a period: ${repairs} in ${periods}`);
  const routes = after?.things.filter(({ kind }) => kind === 'podRoute') ?? [];
  t.strictSame(routes, [], 'a right route of whatever protocol is right');
  const shown = await runInside(node.guest.netns, 'ip', ['-4', 'route', 'show', 'proto', '80']);
  t.equal(shown.trim().split('\n').length, workloads.length, 'and the routes are Felix’s by now');
  t.equal(lab.refused().routingFault, refusedBefore, 'no packet left by a wrong ENI');
  t.match(
    await ask(netnsIn(scene, 'mate'), { address: to[0] ?? '', timeoutMs: 4_000 }),
    { reached: true },
    'without the policy the flow goes',
  );
}

async function mtus(t: Test, scene: Scene): Promise<void> {
  const { lab } = scene;
  const node = lab.node(WITH);
  const host = node.guest.netns;
  const device = lab.hypervisor.deviceOf(eniOf(scene, 'pod')) ?? '';
  t.equal(mtuOf(host, 'eth0'), NODE_MTU, 'the node’s own device keeps what it came with');
  t.equal(mtuOf(host, device), POD_MTU, 'the ENI’s has the configured one');
  t.equal(mtuOf(netnsIn(scene, 'pod'), 'eth0'), POD_MTU);

  await t.test('P18: “fragmentation needed” reaches the pod', async (t) => {
    const narrow = 1_400;
    lab.router.setMtu(OUTSIDE, narrow);
    for (const [index, address] of lab.place(OUTSIDE).ips.entries()) {
      const pod = netnsIn(scene, 'pod');
      const result = await ask(pod, { address, timeoutMs: 6_000, attempts: 8, bytes: 1_440 });
      t.match(
        result,
        { reached: true, sourceSeen: podIn(scene, 'pod').ips[index] },
        `${address}: once told, in fragments`,
      );
      t.match(await runInside(pod, 'ip', ['route', 'get', address]), new RegExp(`mtu ${narrow}`), 'the pod was told');
    }
  });

  await t.test('P18: the shared ENI’s MTU changes under live pods', async (t) => {
    const { echo, ips } = podIn(scene, 'pod');
    if (echo === null) throw new Error('the pod does not run');
    const pings = podIn(scene, 'far').ips.map((ip, index) => new Ping(echo, ip, ips[index] ?? '', 5));
    for (const mtu of [NODE_MTU, 1_400]) {
      await runInside(host, 'ip', ['link', 'set', device, 'mtu', `${mtu}`]);
      await eventually(`${device} has the configured MTU again`, async () => mtuOf(host, device) === POD_MTU);
      await pause(10_000);
    }
    for (const ping of pings) t.strictSame((await ping.stop()).lost, [], 'no ping was lost');
  });

  await t.test('P18: pods of 1500 and of 8500 on one node', async (t) => {
    const path = `${node.dir}/eni_conf`;
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), mtu: NODE_MTU }));
    await node.daemon?.stop();
    node.startDaemon();
    await node.whenServing(60_000);
    await lab.addPod('jumbo', WITH);
    t.equal(mtuOf(netnsIn(scene, 'jumbo'), 'eth0'), NODE_MTU, 'a new pod has the new one');
    t.equal(mtuOf(netnsIn(scene, 'pod'), 'eth0'), POD_MTU, 'one that runs keeps its own');
    await eventually(`${device} has the new MTU`, async () => mtuOf(host, device) === NODE_MTU);
    for (const [from, to] of [
      ['jumbo', 'pod'],
      ['pod', 'jumbo'],
      ['jumbo', WITH],
      [WITHOUT, 'pod'],
    ] as const) {
      for (const address of lab.place(scene.places.get(to) ?? to).ips) {
        const result = await ask(netnsIn(scene, from), { address, timeoutMs: 6_000, attempts: 8, bytes: 4_000 });
        t.match(result, { reached: true }, `4000 bytes from ${from} to ${to}, ${address}`);
      }
    }
  });
}

function eniOf(scene: Scene, name: string): string {
  const [ip = ''] = podIn(scene, name).ips;
  return scene.lab.truth().enis.find((eni) => eni.ipv4.includes(ip))?.eniId ?? '';
}

function mtuOf(netns: Netns, device: string): number {
  const text = netns.run(() => readFileSync('/proc/thread-self/net/dev', 'utf8'));
  if (!text.includes(`${device}:`)) return 0;
  return Number(netns.run(() => readFileSync(`/proc/sys/net/ipv6/conf/${device}/mtu`, 'utf8')));
}
