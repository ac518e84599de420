/**
 * B29: the runtime's list of valid attachments comes by two keys, and what it does not name is freed, on this network alone: with the real daemon, whose
 * ENIs are shared by two networks. One pod has an ENI of its own, whose device is in a namespace that lives on, and has to come home with the rest.
 */
import '../lab/in-box.ts';

import t, { type Test } from 'tap';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { OWN_ENI_ANNOTATION } from '../../src/core/own-eni.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import type { Netns } from '../../src/lab/netns/netns.ts';
import { runInside } from '../../src/lab/services/run-inside.ts';
import { cannotWalk, eventually, type Runtime, type Sandbox, walk } from '../lab/whole-path.ts';
import { startPlugin } from '../plugin/plugin-process.ts';

t.setTimeout(180_000);
const skip = cannotWalk();
const [PODNET, OTHERNET] = ['podnet', 'othernet'];
const VALID = 'cni.dev/valid-attachments';
/** Of the calls that bring addresses: longer than a GC takes. */
const SLOW_MS = 2_500;
const OLD = 'cni.dev/attachments';

type Entry = { readonly containerID: string; readonly ifname: string };
const entryOf = ({ id }: Sandbox): Entry => ({ containerID: id, ifname: 'eth0' });

async function added(runtime: Runtime, sandbox: Sandbox, name = PODNET): Promise<Sandbox> {
  const ran = await runtime.add(sandbox, { conf: { name } });
  if (ran.exitCode !== 0) throw new Error(`ADD ${sandbox.id}: ${ran.stdout}`);
  return sandbox;
}

/** 0, or the error that it printed. */
async function gc({ conf, node }: Runtime, network: string, keys: object) {
  const stdin = JSON.stringify({ ...conf, name: network, cniVersion: '1.1.0', ...keys });
  const env = { CNI_COMMAND: 'GC', CNI_PATH: '/opt/cni/bin' };
  const ran = await startPlugin(node.guest.netns, { env, stdin });
  return ran.stdout === '' ? ran.exitCode : ran.json();
}

async function held(runtime: Runtime): Promise<readonly string[]> {
  const { leases } = await runtime.report();
  return leases.map(({ sandbox }) => `${sandbox.network} ${sandbox.containerId}`).sort();
}

const namesOf = (network: string, sandboxes: readonly Sandbox[]) => sandboxes.map(({ id }) => `${network} ${id}`);

function macsIn(netns: Netns): readonly (string | null)[] {
  const netlink = new Netlink(openKoffiLibc(), netns.fd);
  try {
    return netlink.links().map(({ mac }) => mac);
  } finally {
    netlink.close();
  }
}

t.test('B29: GC', { skip }, (t) =>
  walk(
    t,
    { topology: labTopology(1, 'ecs.g7.xlarge'), config: { max_pool_size: 0, cool_down: '100ms' } },
    async (runtime) => {
      const all = ['a1', 'a2', 'a3', 'a4'].map((name) => runtime.newPod(name));
      const others = ['b1', 'b2'].map((name) => runtime.newPod(name));
      for (const sandbox of all) await added(runtime, sandbox);
      for (const sandbox of others) await added(runtime, sandbox, OTHERNET);
      const [kept, gone] = [all.slice(0, 3), all.slice(3)];
      const [last] = gone as [Sandbox];
      const expect = async (t: Test, sandboxes: readonly Sandbox[], what: string) => {
        const wanted = [...namesOf(PODNET, sandboxes), ...namesOf(OTHERNET, others)].sort();
        t.strictSame(await held(runtime), wanted, what);
        const ends = (runtime.host().links ?? []).filter((line) => line.startsWith('cali'));
        t.equal(ends.length, wanted.length, `${what}: as many host ends as leases`);
      };

      for (const [wrong, msg] of [
        [{}, /is missing/],
        [{ [VALID]: {} }, /is no list/],
        [{ [VALID]: 'a1' }, /is no list/],
        [{ [VALID]: [{ containerID: 'a1' }] }, /names no containerID and ifname/],
        [{ [OLD]: [null] }, /names no containerID and ifname/],
      ] as const)
        t.match(await gc(runtime, PODNET, wrong), { code: 7, msg });
      await expect(t, all, 'a list that is missing or malformed frees nothing');

      const unknown = [{ containerID: 'nobody-knows', ifname: 'eth0' }];
      const otherName = { containerID: last.id, ifname: 'net1' };
      const listed = [...kept.map(entryOf), otherName, ...unknown];
      for (const [what, keys] of [
        ['the key of the specification', { [VALID]: listed }],
        ['the key of libcni before it', { [OLD]: listed }],
        ['both', { [VALID]: listed, [OLD]: listed }],
      ] as const) {
        t.equal(await gc(runtime, PODNET, keys), 0, what);
        await expect(t, kept, `${what}: the one that is listed by another ifname only is freed`);
        const before = runtime.host();
        t.equal(await gc(runtime, PODNET, keys), 0, `${what}: again`);
        await expect(t, kept, `${what}: the second run changes nothing`);
        t.strictSame(runtime.host(), before, `${what}: nor on the host`);
        await added(runtime, last);
      }

      await t.test('B29: while ten ADDs are under way', async (t) => {
        const slow = await runtime.plant(
          ...['AssignPrivateIpAddresses', 'CreateNetworkInterface'].map((api) => ({
            ...{ api, times: 100, effect: 'delay', ms: SLOW_MS },
          })),
        );
        // So that each has to wait for the cloud: one that was given its address before GC began would not be younger than the list.
        await eventually('no address is idle', async () => {
          const { pool } = await runtime.report();
          return pool !== null && pool.counts.idle + pool.counts.cooling + pool.counts.leaving === 0;
        });
        const coming = Array.from({ length: 10 }, (_, at) => runtime.newPod(`c${at}`));
        const adding = coming.map((sandbox) => added(runtime, sandbox));
        await eventually('all have asked', async () => {
          const { actors } = await runtime.report();
          return coming.every(({ id }) => actors.some((actor) => actor.path.includes(id)));
        });
        t.equal((await held(runtime)).length, 6, 'none has its address');
        t.equal(await gc(runtime, PODNET, { [VALID]: kept.map(entryOf) }), 0);
        await Promise.all(adding);
        await expect(t, [...kept, ...coming], 'those that were added meanwhile are kept');
        for (const id of slow) await runtime.clearFault(id);
        const now = await runtime.report();
        for (const sandbox of coming) {
          const ip = now.leases.find((lease) => lease.sandbox.containerId === sandbox.id)?.grant.address.ipv4 ?? '';
          t.equal(await runtime.reaches(sandbox, ip), '', `${sandbox.id} has its network`);
        }
        t.equal(await gc(runtime, PODNET, { [VALID]: kept.map(entryOf) }), 0);
        await expect(t, kept, 'and freed by the next list that does not name them');
      });

      await t.test('B29, own ENI: its device comes home from a namespace that lives on', (t) =>
        ownEni(t, runtime, kept),
      );

      t.equal(await gc(runtime, PODNET, { [VALID]: [] }), 0);
      await expect(t, [], 'an empty list: nothing of this network is valid, all of the other is');
      t.equal(await gc(runtime, OTHERNET, { [VALID]: others.map(entryOf) }), 0);
      await expect(t, [], 'which has a list of its own');
    },
  ),
);

async function ownEni(t: Test, runtime: Runtime, kept: readonly Sandbox[]): Promise<void> {
  const { node } = runtime;
  const annotated = (name: string) => {
    const uid = runtime.createPod(name, 'default', {}, { annotations: { [OWN_ENI_ANNOTATION]: 'true' } });
    return runtime.sandbox(`c-${name}`, name, uid);
  };
  const own = annotated('own');
  const ran = await runtime.add(own, { conf: { name: PODNET } });
  const prevResult: unknown = JSON.parse(ran.stdout);
  const { mac = '' } = runtime.enis.find(({ ipv4 }) => ipv4.includes(ran.ip)) ?? {};
  t.ok(macsIn(own.netns).includes(mac), 'the device is in the pod');

  const check = () => runtime.run('CHECK', own, { conf: { name: PODNET, prevResult } });
  t.match(await check(), { exitCode: 0, stdout: '' }, 'CHECK of a pod with an ENI of its own on a node of shared ones');
  const inPod = (...args: string[]) => runInside(own.netns, 'ip', args);
  const route = (await inPod('route', 'show', 'default')).trim();
  await inPod('route', 'del', 'default');
  for (const time of ['first', 'again'])
    t.match(
      (await check()).error,
      { code: 100, msg: 'missing: route to everywhere on eth0' },
      `CHECK names it, ${time}`,
    );
  await inPod('route', 'add', ...route.split(/\s+/));
  const onHost = (await runInside(node.guest.netns, 'ip', ['route', 'show', ran.ip])).trim();
  await runInside(node.guest.netns, 'ip', ['route', 'del', ran.ip]);
  t.match((await check()).error, { code: 100, msg: new RegExp(`route to ${ran.ip.replaceAll('.', '\\.')}`) });
  await runInside(node.guest.netns, 'ip', ['route', 'add', ...onHost.split(/\s+/)]);
  t.match(await check(), { exitCode: 0, stdout: '' }, 'whole again');
  await inPod('link', 'set', 'veth1', 'down');
  t.match((await check()).error, { code: 100, msg: /veth1 in the pod is down/ });

  // Looked for meanwhile: once at home the ENI does not stay for long, since no idle one is wanted.
  const home = eventually('it is the node’s again', async () => macsIn(node.guest.netns).includes(mac));
  t.equal(await gc(runtime, PODNET, { [VALID]: kept.map(entryOf) }), 0);
  await home;
  t.notOk(macsIn(own.netns).includes(mac), 'and the pod’s no more');
  t.ok((await inPod('-o', 'link')).includes('lo'), 'whose namespace is there yet');
  const next = annotated('next');
  const nextRan = await runtime.add(next, { conf: { name: PODNET } });
  t.equal(nextRan.exitCode, 0, nextRan.stdout);
  const nextEni = runtime.enis.find(({ ipv4 }) => ipv4.includes(nextRan.ip));
  t.ok(macsIn(next.netns).includes(nextEni?.mac ?? ''), 'and the next pod that wants one has one');
  t.equal(await runtime.reaches(next, nextRan.ip), '', 'and works on it');
  t.equal((await runtime.del(next, { conf: { name: PODNET } })).exitCode, 0);
  t.equal((await runtime.del(own, { conf: { name: PODNET } })).exitCode, 0, 'a DEL that comes after all');
}
