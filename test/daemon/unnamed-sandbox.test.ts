/** DEL and CHECK of sandboxes of which the daemon before us wrote down no container id. With a real kernel: test/cases/p14-p15-f10-in-and-out-of-terway.test.ts. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { unnamedContainerId } from '../../src/core/sandbox.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import { backendOver } from '../../src/daemon/backend.ts';
import { carryOutPendingDeletes } from '../../src/daemon/pending-deletes.ts';
import { writeDeletionNote } from '../../src/plugin/deletion-notes.ts';
import { allThere, FakeAllocator, FakeKubernetes } from './fakes.ts';
import { leaseOf } from './lease-of.ts';

const call = { signal: new AbortController().signal, untilMs: 99_000 };
const UNNAMED = unnamedContainerId({ namespace: 'default', name: 'p' });
const request = { K8sPodName: 'p', K8sPodNamespace: 'default', K8sPodInfraContainerId: 'c7', IfName: 'eth0' };
const gone = { isThere: async () => false };

function node(netns: string, sandboxes = allThere) {
  const allocator = new FakeAllocator();
  const { sandbox, ...lease } = leaseOf(UNNAMED);
  allocator.leases.set(`${UNNAMED}/eth0`, { ...lease, sandbox: { ...sandbox, netns } });
  const parts = { allocator, sandboxes, kubernetes: new FakeKubernetes(), nodeName: 'node-1', serviceCidr: null };
  return { allocator, backend: backendOver({ ...parts, reservations: defaultSettings }) };
}

t.test('unnamed sandbox: a DEL that bears the pod’s name alone ends nothing, and is asked what it has', async (t) => {
  const { allocator, backend } = node('/run/netns/p');
  for (const more of [{}, { Netns: '/run/netns/older' }, { PodIPs: ['192.168.0.99'] }])
    t.match(await backend.ReleaseIP({ ...request, ...more }, call), { Unnamed: true, NetConfs: [] });
  t.equal(allocator.leases.size, 1);
  t.notOk('Unnamed' in (await backend.ReleaseIP({ ...request, K8sPodName: 'q' }, call)), 'of another pod nothing is');
});

t.test('unnamed sandbox: its namespace, or an address of it there, says that it is this one', async (t) => {
  for (const [netns, more] of [
    ['/run/netns/p', { Netns: '/run/netns/p' }],
    ['', { Netns: '/run/netns/p', PodIPs: ['192.168.0.12'] }],
  ] as const) {
    const { allocator, backend } = node(netns);
    const info = await backend.GetIPInfo({ ...request, ...more }, call);
    t.match(info, { ContainerId: UNNAMED, NetConfs: [{ BasicInfo: { PodIP: { IPv4: '192.168.0.12' } } }] });
    const reply = await backend.ReleaseIP({ ...request, ...more }, call);
    t.match(reply, { NetConfs: [{ BasicInfo: { PodIP: { IPv4: '192.168.0.12' } } }] });
    t.notOk('Unnamed' in reply);
    t.equal(allocator.leases.size, 0);
  }
  const { backend } = node('');
  t.match(
    await backend.GetIPInfo({ ...request, Netns: '' }, call),
    { NetConfs: [] },
    'no namespace is not the same one',
  );
});

t.test('unnamed sandbox: once the host has nothing of it, a DEL of its pod ends it, whoever calls', async (t) => {
  const { allocator, backend } = node('', gone);
  t.match(await backend.GetIPInfo(request, call), { NetConfs: [] }, 'info tells of nothing that is gone');
  t.match(await backend.ReleaseIP(request, call), { NetConfs: [{}] });
  t.equal(allocator.leases.size, 0);

  const blind = node('', { isThere: () => Promise.reject(new EnactorError('device', 'no netlink')) });
  t.match(await blind.backend.ReleaseIP(request, call), { Unnamed: true }, 'a host that cannot be asked says nothing');
  t.equal(blind.allocator.leases.size, 1);
});

t.test('unnamed sandbox: a sandbox that has its own name is meant by it, whatever else its pod has', async (t) => {
  const { allocator, backend } = node('/run/netns/p', gone);
  allocator.leases.set('c7/eth0', leaseOf('c7'));
  await backend.ReleaseIP({ ...request, Netns: '/run/netns/p', PodIPs: ['192.168.0.12'] }, call);
  t.strictSame([...allocator.leases.keys()], [`${UNNAMED}/eth0`]);
});

t.test('unnamed sandbox: a DEL that was noted while the daemon was away ends it, once it is gone', async (t) => {
  for (const [sandboxes, left] of [
    [gone, 0],
    [allThere, 1],
  ] as const) {
    const dataDir = t.testdir();
    const { allocator } = node('');
    writeDeletionNote(dataDir, leaseOf('c7').sandbox, 500);
    await carryOutPendingDeletes({ dataDir, allocator, sandboxes, log: silentLog }, call.signal);
    t.equal(allocator.leases.size, left);
    t.strictSame(readdirSync(join(dataDir, 'pending-deletes')), []);
  }
});
