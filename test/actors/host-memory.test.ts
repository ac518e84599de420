import t from 'tap';
import { HostMemory } from '../../actors/host-memory.ts';
import { PLUGIN_DEADLINE_MS } from '../../src/core/limits.ts';
import { sandboxKey } from '../../src/core/sandbox.ts';
import { leaseOf } from '../daemon/lease-of.ts';

const lease = { ...leaseOf('c-1'), boundAtMs: 0 };
const key = sandboxKey(lease.sandbox);
const claimed = new Set([key]);
const nothing = { drifts: [], whole: [], begun: [], unclaimed: [] };

t.test(
  'host memory: the plugin has done its part when all was seen once, or when no plugin lives so long',
  async (t) => {
    const memory = new HostMemory(100);
    t.match(memory.wanted([lease], claimed, 1_000).pods, [{ standing: 'young' }]);
    t.match(memory.wanted([lease], claimed, PLUGIN_DEADLINE_MS + 60_000).pods, [{ standing: 'old' }]);
    memory.learn({ ...nothing, whole: [key] }, [], [], 1_000);
    t.match(memory.wanted([lease], claimed, 1_001).pods, [{ standing: 'seen' }]);
    memory.wanted([], new Set(), 1_002);
    t.match(memory.wanted([lease], claimed, 1_003).pods, [{ standing: 'young' }], 'a new ADD of the same sandbox');
  },
);

t.test(
  'host memory: what a plugin began and has not finished after a second is lost, and is looked for then',
  async (t) => {
    const memory = new HostMemory(100);
    memory.wanted([lease], claimed, 1_000);
    memory.learn({ ...nothing, begun: [key] }, [], [], 1_000);
    t.equal(memory.nextDueMs(1_000), 2_000);
    t.match(memory.wanted([lease], claimed, 1_999).pods, [{ standing: 'young' }]);
    memory.learn({ ...nothing, begun: [key] }, [], [], 1_999);
    t.match(memory.wanted([lease], claimed, 2_000).pods, [{ standing: 'old' }]);
    t.equal(memory.nextDueMs(2_000), null, 'whatever comes of it');
    memory.learn(nothing, [], [], 2_000);
    t.match(memory.wanted([lease], claimed, 2_001).pods, [{ standing: 'old' }], 'a repair that failed is tried again');
    memory.wanted([], new Set(), 3_000);
    t.match(memory.wanted([lease], claimed, 3_001).pods, [{ standing: 'young' }], 'a new ADD of the same sandbox');
    memory.learn({ ...nothing, begun: [key] }, [], [], 3_001);
    memory.learn({ ...nothing, whole: [key] }, [], [], 3_010);
    t.equal(memory.nextDueMs(3_010), null, 'it was being made');
  },
);

t.test('host memory: what was released is dead after the grace, unless somebody asks for it again', async (t) => {
  const memory = new HostMemory(100);
  memory.wanted([lease], claimed, 0);
  t.strictSame(memory.wanted([], claimed, 10).dead, [], 'it is being released');
  t.equal(memory.nextDueMs(0), null);
  t.strictSame(memory.wanted([], new Set(), 20).dead, []);
  t.equal(memory.nextDueMs(0), 120);
  memory.wanted([], claimed, 30);
  t.equal(memory.nextDueMs(0), null);

  memory.wanted([lease], claimed, 40);
  memory.wanted([], new Set(), 50);
  const { dead } = memory.wanted([], new Set(), 150);
  t.match(dead, [{ sandbox: { containerId: 'c-1' }, ips: [lease.grant.address.ipv4] }]);
  const failed = { kind: 'leftover', object: key, pod: null, outcome: 'failed', detail: null } as const;
  memory.learn({ ...nothing, drifts: [failed] }, dead, [], 150);
  t.equal(memory.wanted([], new Set(), 160).dead.length, 1, 'what could not be taken away is tried again');
  memory.learn({ ...nothing, drifts: [{ ...failed, outcome: 'repaired' }] }, dead, [], 160);
  t.equal(memory.wanted([], new Set(), 170).dead.length, 0);
});

t.test('host memory: what an earlier life released is known by the address that rests', async (t) => {
  const memory = new HostMemory(100);
  const left = { sandbox: lease.sandbox, ips: ['10.0.0.1'] };
  memory.wanted([], new Set(), 0);
  memory.learn(nothing, [], [left], 0);
  memory.learn(nothing, [], [left], 50);
  t.equal(memory.nextDueMs(0), 100);
  t.match(memory.wanted([], new Set(), 100).dead, [{ ips: ['10.0.0.1'] }]);
});
