import { test } from 'tap';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { nodeService } from '../../src/daemon/node-service.ts';
import type { NodeReport } from '../../src/ports/introspection.ts';
import { FakeAllocator } from './fakes.ts';
import { leaseOf } from './lease-of.ts';

const call = { signal: new AbortController().signal, untilMs: 0 };

function serviceWith(report: Pick<NodeReport, 'invalidLeases' | 'state'> | null) {
  const allocator = new FakeAllocator();
  const service = nodeService({
    ...{ allocator, log: silentLog, clock: { nowMs: () => 0 } },
    report: () => (report === null ? null : ({ leases: [], enis: [], ...report } as unknown as NodeReport)),
    status: () => ({ Code: 0 }),
  });
  return { allocator, check: (ContainerId: string, IfName = '') => service.Check({ ContainerId, IfName }, call) };
}

test('Check: a sandbox with its lease is well; one without, or whose address the cloud took away, is told what is missing', async (t) => {
  const lease = leaseOf('c1');
  const { allocator, check } = serviceWith({ state: 'running.serving', invalidLeases: [] });
  t.strictSame(await check('c1'), { Problems: ['lease of container c1'] });
  await allocator.allocate({ sandbox: lease.sandbox, untilMs: 0 });
  t.strictSame(await check('c1'), { Problems: [] });
  t.strictSame(await check('c1', 'net1'), { Problems: ['lease of container c1'] }, 'another interface of it');

  const gone = serviceWith({ state: 'running.serving', invalidLeases: [lease] });
  await gone.allocator.allocate({ sandbox: lease.sandbox, untilMs: 0 });
  await gone.allocator.allocate({ sandbox: { ...lease.sandbox, containerId: 'c2' }, untilMs: 0 });
  t.match(await gone.check('c1'), { Problems: [/^address 192\.168\.0\.12 .* taken away in the cloud/] });
  t.strictSame(await gone.check('c2'), { Problems: [] });
});

test('Check: before the leases are read nobody is told that there is none', async (t) => {
  await t.rejects(serviceWith(null).check('c1'), { code: 'notReady' });
  await t.rejects(serviceWith({ state: 'starting.calling' }).check('c1'), { code: 'notReady' });
  await t.rejects(serviceWith({ state: 'running.serving' }).check(''), { code: 'invalidArgument' });
});
