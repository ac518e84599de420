/**
 * How long a restart keeps pods waiting: from the start of the daemon's process to its first AllocIP that is answered, with 250 leases on
 * disk and their pods in the kernel, beside the same node with the same ENIs and none.
 *
 * The daemon is killed before each start, as an upgrade at its worst; the caller asks for a new pod every few milliseconds, as a kubelet
 * that has waited long would. Both sides run one after the other, since what differs is on the disk, so the aim is on the quickest of
 * each: what else the machine does only ever adds.
 */

import { deletePodRules } from '../../src/adapters/datapath/pod-rules.ts';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { deleteLink } from '../../src/adapters/netlink/wire/link.ts';
import type { NetConf } from '../../src/core/wire.ts';
import { BOX_VARIABLE } from '../../src/lab/box/box-command.ts';
import { INSTANCE_TYPES, type InstanceType } from '../../src/vpc/instance-types.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { call, type Machine, machine } from '../daemon/machine.ts';
import { podOnHost } from '../daemon/pod-on-host.ts';
import { type Bench, type Measurement, measurement, quantile } from './measurement.ts';

const LEASES = 250;
const DEFAULT_ROUNDS = 7;
const RATIO_AIM = 1.5;
const POLL_MS = 3;
const AT_ONCE = 20;
const GIVEN_UP_MS = 60_000;

/** Nine ENIs of thirty beside the primary one. */
const type: InstanceType = {
  ...(INSTANCE_TYPES[0] as InstanceType),
  instanceType: 'bench.node',
  enis: 10,
  ipv4PerEni: 30,
  ipv6PerEni: 0,
  enisInTotal: 10,
};

const podName = (nth: number): string => `held-${nth}`;

type Placed = { readonly ip: string; readonly routeTable: number };

async function allocated(here: Machine, pod: string): Promise<Placed | null> {
  const answer = await call(here.paths.jsonSocket, 'AllocIP', pod).catch(() => null);
  if (answer?.status !== 200) return null;
  const conf = (answer.body as { NetConfs?: NetConf[] }).NetConfs?.[0];
  return { ip: conf?.BasicInfo?.PodIP?.IPv4 ?? '', routeTable: conf?.ENIInfo?.RouteTable ?? 0 };
}

/** Until the first answer. */
async function firstAnswer(here: Machine, pod: string): Promise<number> {
  const startMs = performance.now();
  const daemon = here.start();
  try {
    while ((await allocated(here, pod)) === null) {
      if (performance.now() - startMs > GIVEN_UP_MS) throw new Error(`no answer:\n${daemon.log.slice(-2_000)}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const ms = performance.now() - startMs;
    await call(here.paths.jsonSocket, 'ReleaseIP', pod);
    return ms;
  } finally {
    await daemon.kill();
  }
}

async function inLots(count: number, work: (nth: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => work(from + index)));
}

async function run({ rounds, progress }: Parameters<Bench['run']>[0]): Promise<readonly Measurement[]> {
  const times = rounds ?? DEFAULT_ROUNDS;
  process.env[BOX_VARIABLE] ??= 'root';
  const ends: (() => unknown)[] = [];
  const test = { teardown: (end: () => unknown) => void ends.push(end) } as unknown as Parameters<typeof machine>[0];
  const topology = { ...defaultTopology(type.instanceType, 1), instanceTypes: [type] };
  const here = await machine(test, { cool_down: '0s', max_pool_size: 300, min_pool_size: 260 }, { topology });
  const host = new Netlink(openKoffiLibc());
  try {
    for (let nth = 0; nth < LEASES; nth += 1) here.addPod(podName(nth));
    for (let nth = 0; nth < 2 * times + 2; nth += 1) here.addPod(`first-${nth}`);
    const daemon = here.start();
    await daemon.serving();
    progress(`${LEASES} pods get their addresses`);
    await daemon.until(async () => ((await daemon.report()).pool?.counts.idle ?? 0) >= LEASES);
    const placed: Placed[] = [];
    await inLots(LEASES, async (nth) => {
      const one = await allocated(here, podName(nth));
      if (one === null) throw new Error(`no address for ${podName(nth)}`);
      placed.push(one);
      const pod = { namespace: 'default', name: podName(nth), uid: null };
      podOnHost(host, { containerId: `sandbox-${podName(nth)}`, ifName: 'eth0', pod }, one.ip, one.routeTable);
    });
    await daemon.kill();
    const measure = async (from: number, what: string): Promise<number[]> => {
      const all: number[] = [];
      await firstAnswer(here, `first-${from}`); // the file cache's first
      for (let round = 1; round <= times; round += 1) all.push(await firstAnswer(here, `first-${from + round}`));
      progress(`${what}: ${all.map((ms) => Math.round(ms)).join(' ')} ms`);
      return all;
    };
    const full = await measure(0, `${LEASES} leases`);

    const emptying = here.start();
    await emptying.serving();
    await inLots(LEASES, (nth) => call(here.paths.jsonSocket, 'ReleaseIP', podName(nth)));
    for (const link of host.links()) if (link.name.startsWith('cali')) host.apply([deleteLink(link)]);
    deletePodRules(
      host,
      placed.map(({ ip }) => ip),
    );
    const { leases, enis } = await emptying.report();
    if (leases.length > 0) throw new Error(`${leases.length} leases are left`);
    progress(`emptied; ${enis.length} ENIs stay`);
    await emptying.kill();
    const empty = await measure(times + 1, 'no lease');

    const [median, none] = [quantile(full, 0.5), quantile(empty, 0.5)];
    const [best, bestNone] = [Math.min(...full), Math.min(...empty)];
    return [
      measurement('restart', `first AllocIP, ${LEASES} leases, median`, median, 'ms'),
      measurement('restart', 'first AllocIP, no lease, median', none, 'ms'),
      measurement('restart', 'first AllocIP, ratio of medians', median / none, 'x'),
      measurement('restart', 'first AllocIP, ratio of the quickest', best / bestNone, 'x', RATIO_AIM),
    ];
  } finally {
    host.close();
    for (const end of ends) await end();
  }
}

export const restart: Bench = {
  name: 'restart',
  summary: `from the start of the daemon to its first answer, with ${LEASES} leases beside none`,
  run,
};
