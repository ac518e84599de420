/**
 * B38: annotations of bandwidth as people write them, by the API server, the daemon and the plugin: every pod starts, what cannot be read is an event that
 * names annotation and value, and limits nothing. The transfers are b38-transfers-within-their-rate.test.ts.
 */
import '../lab/in-box.ts';

import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { cannotWalk, eventually, type Runtime, type Sandbox, walk } from '../lab/whole-path.ts';

t.setTimeout(120_000);
const skip = cannotWalk();
const DIRECTIONS = ['ingress', 'egress'] as const;
/** For the watch to tell of it. */
const SETTLED_MS = 300;
/** Bytes per second, or null where the value means nothing. */
const VALUES: readonly (readonly [string, number | null])[] = [
  ['', null],
  [' ', null],
  ['10M', 1_250_000],
  ['10m', null],
  ['1.5G', 187_500_000],
  ['100', null],
  ['0', null],
  ['-1', null],
  ['abc', null],
  ['10MB', null],
  ['9999999999T', null],
];

/** Rates of the buckets at the pod's and at the host's end. */
function bucketsOf(runtime: Runtime, { netns }: Sandbox, ip: string): readonly (number | null)[] {
  const [pod, host] = [netns, runtime.node.guest.netns].map(({ fd }) => new Netlink(openKoffiLibc(), fd));
  try {
    const inPod = pod?.linkByName('eth0')?.index ?? 0;
    const onHost = host?.routes(4).find(({ destination }) => destination?.ip === ip)?.linkIndex ?? 0;
    return [host?.rootQdisc(onHost)?.rate ?? null, pod?.rootQdisc(inPod)?.rate ?? null];
  } finally {
    pod?.close();
    host?.close();
  }
}

function ignoredOf({ lab }: Runtime, pod: string): readonly string[] {
  const events = resourceNamed('events');
  if (events === null) throw new Error('the API server of the lab knows no events');
  const all = lab.api.store.list(events, null) as readonly {
    reason?: string;
    message?: string;
    involvedObject?: { name?: string };
  }[];
  const about = all.filter(
    ({ reason, involvedObject }) => reason === 'BandwidthIgnored' && involvedObject?.name === pod,
  );
  return about.map(({ message = '' }) => message).sort();
}

/** Somebody annotates the pod once it is there. */
function annotate({ lab }: Runtime, name: string, value: string): void {
  const pods = resourceNamed('pods');
  const object = pods === null ? null : lab.api.store.get(pods, 'default', name);
  if (pods === null || object === null) throw new Error(`no pod ${name}`);
  const annotations = Object.fromEntries(DIRECTIONS.map((one) => [`kubernetes.io/${one}-bandwidth`, value]));
  const metadata = { ...object.metadata, annotations: { ...(object.metadata.annotations ?? {}), ...annotations } };
  lab.api.lifecycle.update(pods, object, { ...object, metadata }, null);
}

/** One that comes between the pod and its sandbox counts; one that comes later counts for the next sandbox, whatever is asked of this one meanwhile. */
async function afterCreation(t: Test, runtime: Runtime, live: Map<Sandbox, string>): Promise<void> {
  const uid = runtime.createPod('late');
  annotate(runtime, 'late', '10M');
  await pause(SETTLED_MS);
  const first = runtime.sandbox('c-late', 'late', uid);
  const { ip, exitCode, stdout } = await runtime.add(first);
  const prevResult: unknown = JSON.parse(stdout);
  t.equal(exitCode, 0);
  t.strictSame(bucketsOf(runtime, first, ip), [1_250_000, 1_250_000], 'set between the pod and its sandbox: it counts');
  annotate(runtime, 'late', '20M');
  await pause(SETTLED_MS);
  t.equal(
    (await runtime.run('CHECK', first, { conf: { prevResult } })).exitCode,
    0,
    'set later: CHECK asks for what the sandbox was made with',
  );
  t.strictSame(bucketsOf(runtime, first, ip), [1_250_000, 1_250_000]);
  t.equal((await runtime.del(first)).exitCode, 0);
  const second = runtime.sandbox('c-late-2', 'late', uid);
  const again = await runtime.add(second);
  t.strictSame(bucketsOf(runtime, second, again.ip), [2_500_000, 2_500_000], 'and it counts for the next one');
  annotate(runtime, 'late', 'fast');
  await pause(SETTLED_MS);
  t.strictSame(ignoredOf(runtime, 'late'), [], 'a value that is wrong is told when it would count');
  live.set(second, again.ip);
}

t.test('B38: annotations of any kind', { skip }, (t) =>
  walk(t, { topology: labTopology(1, 'ecs.g7.xlarge') }, async (runtime) => {
    const live = new Map<Sandbox, string>();
    for (const [at, [value, rate]] of VALUES.entries()) {
      const name = `p${at}`;
      const annotations = Object.fromEntries(DIRECTIONS.map((one) => [`kubernetes.io/${one}-bandwidth`, value]));
      const sandbox = runtime.sandbox(`c-${name}`, name, runtime.createPod(name, 'default', {}, { annotations }));
      const ran = await runtime.add(sandbox);
      t.equal(ran.exitCode, 0, `${JSON.stringify(value)}: the pod starts`);
      live.set(sandbox, ran.ip);
      t.strictSame(bucketsOf(runtime, sandbox, ran.ip), [rate, rate], `${JSON.stringify(value)}: its limit`);
    }
    for (const [at, [value, rate]] of VALUES.entries()) {
      const wanted = rate === null ? DIRECTIONS.length : 0;
      if (wanted > 0) await eventually('it is told', async () => ignoredOf(runtime, `p${at}`).length >= wanted);
      const told = ignoredOf(runtime, `p${at}`);
      t.equal(told.length, wanted, `${JSON.stringify(value)}: one event for each annotation that means nothing`);
      for (const [index, message] of told.entries())
        t.match(
          message,
          `kubernetes.io/${['egress', 'ingress'][index]}-bandwidth: ${JSON.stringify(value)} is not`,
          'by name and value',
        );
    }
    await afterCreation(t, runtime, live);
    for (const sandbox of live.keys()) t.equal((await runtime.del(sandbox)).exitCode, 0);
    const host = new Netlink(openKoffiLibc(), runtime.node.guest.netns.fd);
    try {
      const links = host.links();
      t.strictSame(
        links.filter(({ kind }) => kind === 'ifb').map(({ name }) => name),
        [],
        'no ifb is left',
      );
      t.strictSame(
        links.filter(({ index }) => host.rootQdisc(index)?.kind === 'tbf').map(({ name }) => name),
        [],
        'nor a bucket',
      );
    } finally {
      host.close();
    }
    await runtime.invariants(t);
  }),
);
