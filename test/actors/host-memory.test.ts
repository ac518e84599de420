import t from 'tap';
import { HostMemory } from '../../actors/host-memory.ts';
import { type Leftover, leftoverOf } from '../../src/core/leftover.ts';
import { PLUGIN_DEADLINE_MS } from '../../src/core/limits.ts';
import { sandboxKey } from '../../src/core/sandbox.ts';
import { leaseOf } from '../daemon/lease-of.ts';

const lease = { ...leaseOf('c-1'), boundAtMs: 0 };
const key = sandboxKey(lease.sandbox);
const claimed = new Set([key]);
const none: ReadonlyMap<string, Leftover> = new Map();
const nothing = { drifts: [], whole: [], begun: [], unclaimed: [] };

t.test(
  'host memory: the plugin has done its part when all was seen once, or when no plugin lives so long',
  async (t) => {
    const memory = new HostMemory(() => 100);
    t.match(memory.wanted([lease], claimed, none, 1_000).pods, [{ standing: 'young' }]);
    t.match(memory.wanted([lease], claimed, none, PLUGIN_DEADLINE_MS + 60_000).pods, [{ standing: 'old' }]);
    memory.learn({ ...nothing, whole: [key] }, [], [], 1_000);
    t.match(memory.wanted([lease], claimed, none, 1_001).pods, [{ standing: 'seen' }]);
    memory.wanted([], new Set(), none, 1_002);
    t.match(
      memory.wanted([lease], claimed, none, 1_003).pods,
      [{ standing: 'young' }],
      'a new ADD of the same sandbox',
    );
  },
);

t.test(
  'host memory: what a plugin began and has not finished after a second is lost, and is looked for then',
  async (t) => {
    const memory = new HostMemory(() => 100);
    memory.wanted([lease], claimed, none, 1_000);
    memory.learn({ ...nothing, begun: [key] }, [], [], 1_000);
    t.equal(memory.nextDueMs(1_000), 2_000);
    t.match(memory.wanted([lease], claimed, none, 1_999).pods, [{ standing: 'young' }]);
    memory.learn({ ...nothing, begun: [key] }, [], [], 1_999);
    t.match(memory.wanted([lease], claimed, none, 2_000).pods, [{ standing: 'old' }]);
    t.equal(memory.nextDueMs(2_000), null, 'whatever comes of it');
    memory.learn(nothing, [], [], 2_000);
    t.match(
      memory.wanted([lease], claimed, none, 2_001).pods,
      [{ standing: 'old' }],
      'a repair that failed is tried again',
    );
    memory.wanted([], new Set(), none, 3_000);
    t.match(
      memory.wanted([lease], claimed, none, 3_001).pods,
      [{ standing: 'young' }],
      'a new ADD of the same sandbox',
    );
    memory.learn({ ...nothing, begun: [key] }, [], [], 3_001);
    memory.learn({ ...nothing, whole: [key] }, [], [], 3_010);
    t.equal(memory.nextDueMs(3_010), null, 'it was being made');
  },
);

t.test('host memory: what was released is dead after the grace, unless somebody asks for it again', async (t) => {
  const memory = new HostMemory(() => 100);
  t.strictSame(memory.wanted([lease], claimed, none, 0).dead, []);
  t.equal(memory.nextDueMs(0), null);
  const left = new Map([[key, leftoverOf(lease, 20)]]);
  t.strictSame(memory.wanted([], new Set(), left, 30).dead, []);
  t.equal(memory.nextDueMs(30), 120);
  memory.wanted([], claimed, left, 40);
  t.equal(memory.nextDueMs(40), null);

  const { dead } = memory.wanted([], new Set(), left, 120);
  t.match(dead, [{ sandbox: { containerId: 'c-1' }, ips: [lease.grant.address.ipv4] }]);
  const failed = { kind: 'leftover', object: key, pod: null, outcome: 'failed', detail: null } as const;
  t.strictSame(memory.learn({ ...nothing, drifts: [failed] }, dead, [], 120), []);
  t.equal(memory.wanted([], new Set(), none, 160).dead.length, 1, 'what could not be taken away is tried again');
  t.equal(memory.nextDueMs(160), null, 'when the ledger says so');
  t.strictSame(memory.learn({ ...nothing, drifts: [{ ...failed, outcome: 'repaired' }] }, dead, [], 160), [key]);
  t.equal(memory.wanted([], new Set(), none, 170).dead.length, 0);
});

t.test(
  'host memory: what an earlier life released is dead by the record, whatever the clock was set to since',
  async (t) => {
    const left = new Map([[key, leftoverOf(lease, 10_000)]]);
    t.equal(new HostMemory(() => 100).wanted([], new Set(), left, 10_050).dead.length, 0);
    t.equal(new HostMemory(() => 100).wanted([], new Set(), left, 10_100).dead.length, 1);
    t.equal(new HostMemory(() => 100).wanted([], new Set(), left, 5_000).dead.length, 1);
    t.equal(new HostMemory(() => 100).wanted([], claimed, left, 5_000).dead.length, 0, 'it has asked again');
  },
);

t.test('host memory: of what has no record the address that rests tells', async (t) => {
  const memory = new HostMemory(() => 100);
  const left = { sandbox: lease.sandbox, ips: ['10.0.0.1'] };
  memory.wanted([], new Set(), none, 0);
  memory.learn(nothing, [], [left], 0);
  memory.learn(nothing, [], [left], 50);
  t.equal(memory.nextDueMs(0), 100);
  t.match(memory.wanted([], new Set(), none, 100).dead, [{ ips: ['10.0.0.1'] }]);
});
