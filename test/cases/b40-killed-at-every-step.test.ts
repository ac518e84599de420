/**
 * B40: the real daemon is killed (SIGKILL) before and after its k-th mutating call of the cloud, and before and after its k-th synced
 * write, while the node is filled and emptied. It is started again at once, and the job goes on as a kubelet's would.
 *
 * For every k: the node can be filled, no address is given twice, no second ENI is made for the same purpose, and in the end nothing is
 * left in the cloud. `npm run soak` takes every k up to 40, CI two that are drawn (they are told); ENACTOR_K=3,17 takes those, at every point.
 * In the simulation the same happens by the thousand.
 */
import '../lab/in-box.ts';

import t, { type Test } from 'tap';
import { mutates } from '../../src/vpc/model.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { call, type DaemonRun, type Machine, machine } from '../daemon/machine.ts';

const K_MAX = 40;
/** Two ENIs of six. */
const PODS = Array.from({ length: 12 }, (_, index) => `p${index}`);
const HOOK = new URL('../daemon/kill-at-write.mjs', import.meta.url).href;
const TRIES_MAX = 200;
const AT_REST_MS = 30_000;

t.setTimeout(3_600_000);

const soak = process.env.ENACTOR_SPEED === '1';
const points = ['call before', 'call after', 'write before', 'write after'] as const;
type Point = (typeof points)[number];

const all = Array.from({ length: K_MAX }, (_, index) => index + 1);
const drawn = (): number => 1 + Math.floor(Math.random() * K_MAX);
const named = (process.env.ENACTOR_K ?? '').split(',').filter(Boolean).map(Number);
/** One of the cloud's and one of the store's. */
const taken =
  soak || named.length > 0
    ? points
    : ([0, 2] as const).map((kind) => points[kind + Math.floor(Math.random() * 2)] as Point);

const settings = {
  max_pool_size: 0,
  cool_down: '0s',
  eni_min_age: '0s',
  pool_period: '200ms',
  cloud_period: '2s',
  backoff: '50ms',
  backoff_max: '500ms',
  inputs_max: 0,
};

/** The daemon, and whatever has to be started in its place when it dies. */
class Node {
  readonly here: Machine;
  daemon: DaemonRun;
  deaths = 0;
  killed = false;

  constructor(here: Machine, nodeArgs: readonly string[]) {
    this.here = here;
    this.daemon = this.#start(nodeArgs);
  }

  #start(nodeArgs: readonly string[] = []): DaemonRun {
    const daemon = this.here.start({}, this.here.dir, nodeArgs);
    void daemon.ended.then(({ signal }) => {
      if (signal !== 'SIGKILL') return;
      this.deaths += 1;
      if (daemon === this.daemon) this.daemon = this.#start();
    });
    return daemon;
  }

  /** Of the daemon that lives: the k-th step may be the last one, and its successor only just on the way. */
  async report(): ReturnType<DaemonRun['report']> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.daemon.report();
      } catch (error) {
        if (tries === TRIES_MAX) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** As a kubelet: the same sandbox again until it has its address. */
  async until200(method: 'AllocIP' | 'ReleaseIP', pod: string): Promise<string> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const answer = await call(this.here.paths.jsonSocket, method, pod).catch(() => null);
      if (answer?.status === 200) {
        const { NetConfs = [] } = answer.body as { NetConfs?: { BasicInfo: { PodIP: { IPv4: string } } }[] };
        return NetConfs[0]?.BasicInfo.PodIP.IPv4 ?? '';
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${method} of ${pod} never worked:\n${this.daemon.log.slice(-3_000)}`);
  }
}

async function round(t: Test, here: Machine, point: Point, k: number): Promise<void> {
  const name = `k = ${k}, ${point}`;
  const { live, model } = here.cloud;
  const ours = () => model.truth(Date.now()).enis.filter((eni) => eni.type !== 'Primary');
  const [what, when] = point.split(' ') as ['call' | 'write', 'before' | 'after'];
  const node = new Node(here, what === 'write' ? ['--import', `${HOOK}?nth=${k}&when=${when}`] : []);
  const { call: carriedOut } = live;
  let left = what === 'call' ? k : Number.POSITIVE_INFINITY;
  live.call = async (wanted) => {
    if (!mutates(wanted.api)) return Reflect.apply(carriedOut, live, [wanted]);
    left -= 1;
    if (left !== 0) return Reflect.apply(carriedOut, live, [wanted]);
    const dying = node.daemon;
    // Before: it never arrives. After: it is carried out, and nobody hears of it.
    if (when === 'after') live.gateway.call(wanted, live.nowMs());
    live.touched();
    void dying.stop('SIGKILL');
    await dying.ended;
    throw new Error('whoever called is dead');
  };
  const startSeq = live.gateway.ledger.lastSeq;
  try {
    for (let fill = 0; fill < 2; fill += 1) {
      const ips = new Map<string, string>();
      for (const pod of PODS) ips.set(pod, await node.until200('AllocIP', `${pod}-${fill}`));
      t.equal(new Set(ips.values()).size, PODS.length, `${name}: no address twice, and the capacity is reached`);
      const truth = ours().flatMap((eni) => (eni.status === 'InUse' ? eni.ipv4 : []));
      t.strictSame(
        [...ips.values()].filter((ip) => !truth.includes(ip)),
        [],
        `${name}: each is on an ENI here`,
      );
      t.ok(ours().length <= 2, `${name}: no ENI over the two that are needed`);
      const again = await Promise.all(PODS.map((pod) => node.until200('AllocIP', `${pod}-${fill}`)));
      t.strictSame(again, [...ips.values()], `${name}: asked again, the same answer`);
      for (const pod of PODS) await node.until200('ReleaseIP', `${pod}-${fill}`);
      const endMs = performance.now() + AT_REST_MS;
      while (ours().length > 0 && performance.now() < endMs) await new Promise((resolve) => setTimeout(resolve, 20));
      t.strictSame(
        ours().map(({ eniId, status, ipv4 }) => ({ eniId, status, ipv4 })),
        [],
        `${name}: emptied, no ENI is left`,
      );
      const report = await node.report();
      t.strictSame(report.leases, [], `${name}: nor a lease`);
    }
    t.equal(node.deaths, 1, `${name}: it was killed once`);
    const creates = live.gateway.ledger
      .read(startSeq, 'CreateNetworkInterface')
      .filter((entry) => entry.changed).length;
    t.ok(creates <= 5, `${name}: ${creates} ENIs made: four are needed, and one may be undone`);
  } finally {
    live.call = carriedOut;
    const { daemon } = node;
    await daemon.stop();
  }
}

for (const point of taken) {
  const ks = named.length > 0 ? named : soak ? all : [drawn()];
  t.test(`B40: killed at ${point}, k = ${ks.join(', ')}`, async (t) => {
    t.comment(`k drawn: ${ks.join(', ')}`);
    const here = await machine(t, settings, { topology: defaultTopology('lab.small', 1) });
    for (const pod of PODS) for (const fill of [0, 1]) here.addPod(`${pod}-${fill}`);
    for (const k of ks) await round(t, here, point, k);
  });
}
