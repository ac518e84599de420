/**
 * P15, F10: pods that Terway connected, in the layout of each of three versions, talk all the time while their node goes over: our daemon starts, keepers
 * sweep, the daemon is killed, pods beside them come and go, and the node goes back and in again. Not one packet of theirs is lost, each is seen under its
 * pod's own address, and the router refuses none. By the lab: real daemon, plugin, command and router.
 */
import '../lab/in-box.ts';

import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { bucketFile } from '../../src/adapters/bolt/bolt-writer.ts';
import { TERWAY_BUCKET } from '../../src/adapters/bolt/terway-database.ts';
import { isHeldBack } from '../../src/core/held-back.ts';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import type { Guest } from '../../src/lab/guest/guest.ts';
import { type CniVerb, callCni } from '../../src/lab/kubelet/cni-runtime.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { Netns } from '../../src/lab/netns/netns.ts';
import type { LabNode } from '../../src/lab/node/lab-node.ts';
import { ask } from '../../src/lab/probe/ask.ts';
import { EchoSocket } from '../../src/lab/probe/echo-socket.ts';
import { findPrograms } from '../../src/lab/programs.ts';
import { cannotWalk } from '../lab/whole-path.ts';
import { type PodNamespace, recordOf, type TerwayHost, type TerwayPod, terwayEnis, terwayPods } from './terway-node.ts';

t.setTimeout(180_000);

const LAYOUTS = ['v1.0.10', 'v1.2', 'current'] as const;
const CLI = resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactor.js');
const PATIENCE_MS = 60_000;
const SERVING_MS = 60_000;
/** So long a packet may be on its way on a machine that is busy; one that is lost is not waited for any longer. */
const ANSWER_MS = 20_000;
const PAUSE_MS = 60;

type LabPodNamespace = PodNamespace & { readonly netns: Netns };

/** In the box's own /run, where `ip` finds it by name. */
function namespacesIn(t: Test): (role: string) => LabPodNamespace {
  let made = 0;
  return (role) => {
    made += 1;
    const name = `terway-${role}-${made}`;
    const netns = Netns.create(`/run/netns/${name}`);
    const run = (args: readonly string[], input = ''): string =>
      execFileSync('ip', ['-n', name, ...args], { encoding: 'utf8', input });
    t.teardown(() => netns.remove());
    run(['link', 'set', 'lo', 'up']);
    return {
      ...{ name, path: netns.path, netns, ip: (...args) => run(args), remove: () => netns.remove() },
      batch: (lines) => void run(['-batch', '-'], `${lines.join('\n')}\n`),
    };
  };
}

/** Packets that go on until they are stopped, one after the other on each way. */
class Talk {
  readonly lost: string[] = [];
  readonly sent = new Map<string, number>();
  #over = false;
  readonly #ways: Promise<void>[] = [];

  on(way: string, from: Netns, address: string, own: string): void {
    this.sent.set(way, 0);
    this.#ways.push(this.#talk(way, from, address, own));
  }

  /** Until each way has had so many more answers. */
  async goesOn(times = 3): Promise<void> {
    const before = new Map(this.sent);
    const isIn = ([way, sent]: [string, number]): boolean => sent >= (before.get(way) ?? 0) + times;
    await until('packets go on', async () => [...this.sent].every(isIn) || this.lost.length > 0);
  }

  async end(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#ways);
  }

  async #talk(way: string, from: Netns, address: string, own: string): Promise<void> {
    while (!this.#over && this.lost.length < 10) {
      const told = await oneWay(from, address, own);
      if (told !== null) this.lost.push(`${way}: ${told}`);
      this.sent.set(way, (this.sent.get(way) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

/** One packet from a socket of its own; null when it was answered, and seen as it ought to be. */
async function oneWay(from: Netns, address: string, own: string): Promise<string | null> {
  const result = await ask(from, { address, timeoutMs: ANSWER_MS, attempts: 1 });
  if (!result.reached) return result.why;
  return result.sourceSeen === own ? null : `seen as ${result.sourceSeen}`;
}

async function until(what: string, met: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + PATIENCE_MS;
  while (!(await met())) {
    if (performance.now() > endMs) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** As the API server has pods that run. */
function publish({ api }: Lab, node: LabNode, { name, ip, ip6 }: TerwayPod): void {
  const pods = resourceNamed('pods');
  if (pods === null) throw new Error('no pods');
  const spec = { nodeName: node.name, containers: [{ name: 'main', image: 'busybox' }] };
  const object = api.lifecycle.create(pods, 'default', { metadata: { name }, spec });
  const podIPs = [{ ip }, ...(ip6 === null ? [] : [{ ip: ip6 }])];
  const status = { phase: 'Running', podIP: ip, podIPs };
  api.lifecycle.update(pods, object, { ...object, status }, 'status');
}

function unpublish({ api }: Lab, { name }: TerwayPod): void {
  const pods = resourceNamed('pods');
  const object = pods === null ? null : api.store.get(pods, 'default', name);
  if (pods === null || object === null) throw new Error(`no pod ${name}`);
  api.lifecycle.delete(pods, object, { gracePeriodSeconds: 0, uid: null, resourceVersion: null });
}

const cni = (node: LabNode, verb: CniVerb, { name, containerId, namespace, ip, ip6 }: TerwayPod) =>
  callCni({
    ...{ verb, host: node.guest.netns, pluginDir: findPrograms().cniDir, confDir: node.confDir, ifName: 'eth0' },
    ...{ containerId, netnsPath: namespace.path },
    args: {
      ...{ IgnoreUnknown: '1', K8S_POD_NAMESPACE: 'default', K8S_POD_NAME: name },
      K8S_POD_INFRA_CONTAINER_ID: containerId,
    },
    prevResult: {
      cniVersion: '1.0.0',
      ips: [`${ip}/24`, ...(ip6 === null ? [] : [`${ip6}/64`])].map((address) => ({ address })),
    },
  });

t.test('P15, F10: no packet is lost on the way in and out of Terway', { skip: cannotWalk() }, async (t) => {
  const periods = { kernel_period: '500ms', kernel_gather: '50ms', leftover_grace: '100ms', gc_period: '300ms' };
  const config = {
    ip_stack: 'dual',
    cool_down: '200ms',
    min_pool_size: 0,
    max_pool_size: 12,
    gc_grace: '0s',
    ...periods,
  };
  const lab = await startLab({ topology: labTopology(1, undefined, true), config, daemons: false });
  const server = createServer(lab.cloud.handler);
  const echoes: EchoSocket[] = [];
  const talk = new Talk();
  try {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const [node] = lab.nodes as [LabNode];
    const nodeIp6 = node.guest.ips.find((each) => each.includes(':')) ?? '';
    const enter = node.guest.netns.command('ip', []);
    const host: TerwayHost = {
      ...{ nodeIp: node.nodeIp, nodeIp6, namespace: namespacesIn(t) },
      enter: [enter.command, ...enter.args.slice(0, -1)],
    };
    const onHost = (...args: string[]): string =>
      execFileSync(host.enter[0] ?? '', [...host.enter.slice(1), ...args], { encoding: 'utf8' });
    // Its plugin turns these on and off for all devices.
    onHost(
      'sh',
      '-c',
      'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$f; done; echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding',
    );
    const enis = await terwayEnis(url, LAYOUTS.length, 4, { dual: true });
    const pods = LAYOUTS.flatMap((layout, at) => {
      const eni = enis[at];
      return eni === undefined ? [] : terwayPods(host, layout, eni, { pods: 3 });
    });
    for (const pod of pods) {
      publish(lab, node, pod);
      echoes.push(await EchoSocket.open(netnsOf(pod), [4, 6], pod.name));
    }
    const database = `${node.dir}/terway/ResRelation.db`;
    mkdirSync(dirname(database), { recursive: true });
    const entries = pods.map((pod) => [`default/${pod.name}`, Buffer.from(recordOf(pod))] as const);
    writeFileSync(database, bucketFile(TERWAY_BUCKET, new Map(entries)));

    const { name: far, netns: farNetns, ips: farIps } = lab.hosts[0] as Guest;
    const [farIp = '', farIp6 = ''] = farIps;
    const live = pods.filter(({ name }) => name.endsWith('-0'));
    const [first, second, third] = live as [TerwayPod, TerwayPod, TerwayPod];
    for (const pod of live) {
      talk.on(`${pod.name} to ${far}`, netnsOf(pod), farIp, pod.ip);
      talk.on(`${far} to ${pod.name}`, farNetns, pod.ip, farIp);
      talk.on(`${pod.name} to its node`, netnsOf(pod), node.nodeIp, pod.ip);
      talk.on(`its node to ${pod.name}`, node.guest.netns, pod.ip, node.nodeIp);
    }
    for (const pod of live) {
      const { name, ip6 } = pod;
      if (ip6 === null) continue;
      talk.on(`${name} to ${far}, IPv6`, netnsOf(pod), farIp6, ip6);
      talk.on(`${far} to ${name}, IPv6`, farNetns, ip6, farIp6);
      talk.on(`its node to ${name}, IPv6`, node.guest.netns, ip6, nodeIp6);
    }
    // What the current form sends to a pod of v1.0.10's leaves by the ENI, and gets lost on its way back in: Terway's own, until the keeper has swept.
    for (const [a, b] of [
      [first, second],
      [second, first],
      [second, third],
      [third, second],
    ] as const)
      talk.on(`${a.name} to ${b.name}`, netnsOf(a), b.ip, a.ip);
    await talk.goesOn();
    t.strictSame(talk.lost, [], 'before: Terway’s pods are connected');

    const repaired = async (): Promise<void> => {
      const wanted = pods.filter((pod) => onHost('ip', 'link').includes(deviceOf(pod)));
      const hasPair = (rules: string, { ip }: TerwayPod): boolean =>
        rules.includes(`512:\tfrom all to ${ip} lookup main`) && new RegExp(`2048:\tfrom ${ip} lookup \\d`).test(rules);
      await until('the keeper has swept', async () => {
        const rules = onHost('ip', 'rule');
        return wanted.every((pod) => hasPair(rules, pod));
      });
    };
    const leased = async (): Promise<readonly string[]> => {
      const leases = (await node.report())?.leases ?? [];
      return leases.filter(({ sandbox }) => !isHeldBack(sandbox)).map(({ sandbox }) => sandbox.pod.name);
    };
    const served = async (): Promise<void> => {
      node.startDaemon();
      await node.whenServing(SERVING_MS);
      await repaired();
      await talk.goesOn();
    };
    await served();
    const pairs = ((await node.report())?.leases ?? [])
      .filter(({ sandbox }) => !isHeldBack(sandbox))
      .map(({ sandbox, grant: { address } }) => [sandbox.pod.name, address.ipv4, address.ipv6]);
    t.strictSame(pairs.toSorted(), pods.map(({ name, ip, ip6 }) => [name, ip, ip6]).toSorted());
    for (const from of [third, second])
      t.equal(await oneWay(netnsOf(from), first.ip, from.ip), null, `${from.name} to ${first.name}`);
    t.strictSame(talk.lost, [], 'in: our daemon has started, and its keepers have swept');

    for (const pod of live) await cni(node, 'CHECK', pod);
    const doctor = [process.execPath, CLI, 'doctor', '--debug-socket', node.debugSocket, '-o', 'json'];
    const found = await ended(host, doctor);
    const findings = JSON.parse(found.stdout) as readonly { readonly check: string; readonly is: string }[];
    t.ok(findings.length > 5, 'the doctor has looked');
    t.strictSame(
      findings.filter(({ is, check }) => is === 'problem' && !['kube-proxy', 'kernel'].includes(check)),
      [],
    );

    node.daemon?.signal('SIGKILL');
    await node.daemon?.ended;
    const [away, ...ending] = pods.filter(({ name }) => name.endsWith('-1')) as [TerwayPod, TerwayPod];
    await cni(node, 'DEL', away);
    t.notMatch(onHost('ip', 'link'), deviceOf(away), 'a DEL while the daemon is away takes the device');
    t.notMatch(onHost('ip', 'rule'), `${away.ip} `, 'and the rules');
    await served();
    await until('its lease ends', async () => !(await leased()).includes(away.name));
    t.strictSame(talk.lost, [], 'killed and started again');

    for (const pod of ending) await cni(node, 'DEL', pod);
    t.notOk(
      (await leased()).some((name) => name.endsWith('-1')),
      'a DEL ends the lease',
    );
    for (const pod of [away, ...ending]) {
      pod.namespace.remove();
      unpublish(lab, pod);
    }
    const fresh = ['new-0', 'new-1', 'new-2', 'new-3', 'new-4', 'new-5'];
    for (const name of fresh) await lab.addPod(name, node.name);
    const refilled = fresh.flatMap((name) => lab.place(name).ips.slice(0, 1));
    t.ok(
      [away, ...ending].some(({ ip }) => refilled.includes(ip)),
      'addresses of pods that ended are given again',
    );
    t.equal(new Set([...refilled, ...pods.map(({ ip }) => ip)]).size, pods.length - 3 + fresh.length);
    for (const name of fresh) {
      const { netns } = lab.pods.get(name)?.sandbox ?? {};
      const [own = ''] = lab.place(name).ips;
      if (netns === undefined) throw new Error(`${name} does not run`);
      for (const [to, address] of [[far, farIp], ...live.map((pod) => [pod.name, pod.ip] as const)] as const)
        t.equal(await oneWay(netns, address, own), null, `${name} to ${to}`);
    }
    for (const name of fresh.slice(0, 3)) await lab.removePod(name);
    await talk.goesOn();
    t.strictSame(talk.lost, [], 'refilled beside them');

    await node.daemon?.stop();
    const files = ['--db', database, '--data-dir', node.dataDir, '--lock-file', `${node.dir}/terwayd.lock`];
    const command = [process.execPath, CLI, 'terway-give-back', ...files, '-o', 'json'];
    const ran = await ended(host, command);
    t.equal(ran.status, 0, ran.stderr + ran.stdout);
    await talk.goesOn();
    t.strictSame(talk.lost, [], 'out: their leases are given back');

    await served();
    const staying = [...live, ...pods.filter(({ name }) => name.endsWith('-2'))].map(({ name }) => name);
    t.strictSame((await leased()).toSorted(), [...staying, ...fresh.slice(3)].toSorted(), 'in once more');
    await talk.end();
    t.strictSame(talk.lost, [], 'to the end');
    const counts = [...talk.sent.values()];
    t.ok(Math.min(...counts) >= 15, `${counts.reduce((a, b) => a + b)} packets on ${counts.length} ways`);
    t.comment(`${counts.reduce((a, b) => a + b)} packets on ${counts.length} ways`);

    for (const pod of pods.filter(({ name }) => staying.includes(name))) {
      await cni(node, 'DEL', pod);
      pod.namespace.remove();
      unpublish(lab, pod);
    }
    for (const name of fresh.slice(3)) await lab.removePod(name);
    const about = (): string[] =>
      onHost('ip', 'rule')
        .split('\n')
        .filter((line) => pods.some(({ ip }) => line.includes(`${ip} `)));
    await until('nothing leads to them any more', async () => about().length === 0);
    t.notMatch(onHost('ip', 'route', 'show', 'table', 'all'), /dev cali/, 'nor does a route');
    t.strictSame(lab.refused(), { routingFault: 0, justReleased: 0, unknownSource: 0, noDestination: 0 });
  } finally {
    await talk.end();
    for (const echo of echoes) await echo.close();
    server.close();
    server.closeAllConnections();
    t.strictSame(await lab.stop(), [], 'nothing is left behind');
  }
});

/** Not waited for in one stretch: whoever talks would hear the answers too late. */
function ended(
  { enter }: TerwayHost,
  command: readonly string[],
): Promise<{ status: number; stdout: string; stderr: string }> {
  const [program = '', ...args] = [...enter, ...command];
  return new Promise((resolve) => {
    execFile(program, args, { encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

const netnsOf = ({ namespace }: TerwayPod): Netns => (namespace as LabPodNamespace).netns;
const deviceOf = ({ name }: TerwayPod): string => hostVethName({ namespace: 'default', name }, 'eth0');
