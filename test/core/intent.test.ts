import t from 'tap';
import { type EniIntent, type Intent, isSettled, mayHaveHappened, parseIntent } from '../../src/core/intent.ts';

const common = { version: 1, id: 'eni-1', slot: 0, eniId: 'eni-1', atMs: 5 } as const;
const attach: EniIntent = { ...common, kind: 'attach', instanceId: 'i-1' };
const detach: EniIntent = { ...common, kind: 'detach', instanceId: 'i-1' };
const remove: EniIntent = { ...common, kind: 'delete' };
const assign: EniIntent = { ...common, kind: 'assign', ipv4Count: 3, clientToken: 't-1' };
const unassign: EniIntent = { ...common, kind: 'unassign', ips: ['10.0.0.2'] };
const create: Intent = {
  ...common,
  id: 't-1',
  eniId: null,
  kind: 'create',
  vSwitchId: 'vsw-1',
  securityGroupIds: ['sg-1'],
  ipv4Count: 2,
  ipv6Count: 0,
  tags: { creator: 'enactor' },
  description: 'd',
  clientToken: 't-1',
};

t.test('intent: each kind survives its way over the disk', async (t) => {
  for (const intent of [create, attach, detach, remove, assign, unassign])
    t.strictSame(parseIntent(JSON.parse(JSON.stringify(intent))), intent, intent.kind);
});

t.test('intent: what is no intent of a version we know is none', async (t) => {
  const { eniId: _, ...nameless } = attach;
  const bad: unknown[] = [
    null,
    'x',
    7,
    [],
    {},
    { ...attach, version: 2 },
    { ...attach, id: '' },
    { ...attach, kind: 'explode' },
    { ...attach, atMs: 'now' },
    nameless,
    { ...create, clientToken: 5 },
    { ...create, vSwitchId: undefined },
    { ...unassign, ips: '10.0.0.2' },
  ];
  for (const value of bad) t.equal(parseIntent(value), null, JSON.stringify(value));
});

t.test('intent: what Describe tells settles it, or does not', async (t) => {
  for (const intent of [attach, detach, remove, assign, unassign]) t.ok(isSettled(intent, null), 'the ENI is no more');
  t.ok(isSettled(attach, { status: 'InUse' }));
  t.notOk(isSettled(attach, { status: 'Available' }), 'rolled back, or not begun');
  t.notOk(isSettled(attach, { status: 'Attaching' }));
  t.notOk(isSettled(detach, { status: 'InUse' }));
  t.notOk(isSettled(detach, { status: 'Available' }), 'it was to be deleted');
  t.notOk(isSettled(remove, { status: 'Available' }));
  t.notOk(isSettled(remove, { status: 'Deleting' }));
  t.ok(isSettled(assign, { status: 'InUse' }));
  t.ok(isSettled(unassign, { status: 'InUse' }));
});

t.test('intent: only an answer that refuses, or no call at all, is proof that nothing happened', async (t) => {
  for (const code of ['permission', 'vSwitchEmpty', 'throttled', 'store'] as const)
    t.notOk(mayHaveHappened({ code }), code);
  for (const code of ['cloud', 'cloudUnreachable', 'tokenSpent', 'cancelled', 'internal'] as const)
    t.ok(mayHaveHappened({ code }), code);
});
