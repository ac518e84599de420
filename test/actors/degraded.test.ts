/** A start while the cloud, or the metadata service, is away: what is free for sure is served, and nothing else. */
import t, { type Test } from 'tap';
import { EnactorError } from '../../src/core/errors.ts';
import type { Log } from '../../src/ports/log.ts';
import { atRest, troubles } from './at-rest.ts';
import { eventually, type OneNode, oneNode } from './one-node.ts';

/** Three pods and three idle addresses; and what is on disk of its ENI. */
async function start(t: Test, more: Parameters<typeof oneNode>[0] = {}): Promise<OneNode> {
  const lab = await oneNode({ ...more, settings: { minIdle: 3, maxIdle: 3, coolDownMs: 1_500, ...more.settings } });
  t.teardown(() => lab.stop());
  await lab.serving();
  for (const pod of ['a', 'b', 'c']) await lab.add(pod);
  await atRest(lab);
  await eventually('what there is is remembered', () => remembered(lab).length === 6);
  return lab;
}

const recordOf = (lab: OneNode) => JSON.parse([...(lab.disk.get('enis')?.values() ?? [])][0] ?? '{}');
const remembered = (lab: OneNode): string[] => recordOf(lab).ipv4 ?? [];
const degraded = (lab: OneNode): Promise<void> =>
  eventually('it is degraded', () => lab.report().state.startsWith('running.degraded'));
const ipOf = async (adding: ReturnType<OneNode['add']>): Promise<string> => (await adding).grant.address.ipv4;
const refusal = async (adding: Promise<unknown>): Promise<string> => {
  const error = await adding.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return error instanceof EnactorError ? `${error.code}: ${error.detail}` : 'none';
};
const leases = (lab: OneNode): unknown =>
  Object.fromEntries(lab.report().leases.map(({ sandbox, grant }) => [sandbox.pod.name, grant.address.ipv4]));

for (const who of ['cloud', 'metadata'] as const)
  t.test(
    `degraded: with the ${who} away a node serves what is free for sure, and is whole by itself later`,
    async (t) => {
      const lab = await start(t);
      const first = await ipOf(lab.add('a'));
      const before = leases(lab);
      const idle = remembered(lab).filter((ip) => !Object.values(before as object).includes(ip));
      lab.away[who] = true;
      await lab.begin();
      await degraded(lab);
      t.match(lab.report().missing, [who === 'cloud' ? /identify: .*HOSTUNREACH/ : /identify: .*no route/]);
      t.same(leases(lab), before, 'every lease is there');
      t.equal(await ipOf(lab.add('a')), first, 'and who asks again gets his own');
      const rest = await lab.del('b');
      t.equal(rest?.grant.address.ipv4, (before as Record<string, string>).b, 'a DEL gives back');
      const given = [await ipOf(lab.add('d')), await ipOf(lab.add('e')), await ipOf(lab.add('f'))];
      t.strictSame(given.sort(), [...idle].sort(), 'new pods get what was idle');
      const none = await refusal(lab.add('g'));
      t.match(
        none,
        /^notReady: no address is left that is free for sure.*degraded: identify: /,
        'who is left is told why',
      );
      const held = leases(lab);
      lab.away[who] = false;
      await lab.serving();
      t.same(leases(lab), held);
      t.same(lab.report().missing, []);
      await lab.add('g');
      await atRest(lab);
      t.same(troubles(lab), []);
      t.equal(lab.calls('CreateNetworkInterface').length, lab.truth().length);
    },
  );

t.test('degraded: whatever makes an address doubtful keeps it from being served', async (t) => {
  const lab = await start(t);
  const mac = lab.truth()[0]?.mac ?? '';
  const eniId = lab.truth()[0]?.eniId ?? '';
  const intent = (kind: string, more: object = {}) => ({
    version: 1,
    id: eniId,
    slot: 0,
    atMs: 1,
    kind,
    eniId,
    ...more,
  });
  const record = (name: string, key: string, value: unknown) => {
    const records = lab.disk.get(name) ?? new Map<string, string>();
    lab.disk.set(name, records);
    records.set(key, typeof value === 'string' ? value : JSON.stringify(value));
    return () => void records.delete(key);
  };
  const eni = recordOf(lab);
  const device = lab.kernel.devices.get(mac);
  const idle = remembered(lab).filter((ip) => !Object.values(leases(lab) as object).includes(ip));
  const meta = JSON.parse(lab.disk.get('meta')?.get('store') ?? '{}');
  /** Each makes some doubt and takes it back. */
  const doubts: Readonly<Record<string, () => () => void>> = {
    'an address is to be unassigned': () => record('intents', eniId, intent('unassign', { ips: [idle[0]] })),
    'the ENI is to be detached': () => record('intents', eniId, intent('detach', { instanceId: 'i-lab-node-1' })),
    'the ENI is to be deleted': () => record('intents', eniId, intent('delete')),
    'an intent cannot be read': () => record('intents', 'x', 'no JSON'),
    'a lease cannot be read': () => record('leases', 'x/eth0', 'no JSON'),
    'it was another boot': () => {
      lab.host.boot = 'boot-2';
      return () => {
        lab.host.boot = 'boot-1';
      };
    },
    'it was another instance': () => {
      record('enis', eniId, { ...eni, instanceId: 'i-other' });
      return () => void record('enis', eniId, eni);
    },
    'the store is not whole': () => {
      record('meta', 'store', { ...meta, whole: false });
      return () => void record('meta', 'store', meta);
    },
    'a program that does not remember had the store': () => {
      record('meta', 'store', { ...meta, remembersEnis: undefined });
      return () => void record('meta', 'store', meta);
    },
    'the device is not here': () => {
      lab.kernel.devices.delete(mac);
      return () => device && void lab.kernel.devices.set(mac, device);
    },
    'the host routes them to pods that no record knows': () => {
      lab.host.podsThere = idle.map((ip, nth) => ({
        device: `cali${nth}`,
        ips: [ip],
        routeTable: null,
        sandbox: null,
      }));
      return () => {
        lab.host.podsThere = [];
      };
    },
    'they were given back, and the host routes them yet': () => {
      lab.host.podsThere = idle.map((ip, nth) => ({
        device: `cali${nth}`,
        ips: [ip],
        routeTable: null,
        sandbox: null,
      }));
      const undo = idle.map((ip) => record('coolDowns', ip, 1));
      return () => {
        lab.host.podsThere = [];
        for (const one of undo) one();
      };
    },
    'they rest': () => {
      const undo = idle.map((ip) => record('coolDowns', ip, Date.now() + 600_000));
      return () => {
        for (const one of undo) one();
      };
    },
    'they are kept for another pod': () => {
      const kept = { version: 1, pod: 'default/z', sandbox: 'c-z/eth0', eniId, untilMs: Date.now() + 600_000 };
      const undo = idle.map((ipv4) =>
        record('reservations', ipv4, { ...kept, address: { ipv4, ipv6: null }, coolUntilMs: 1 }),
      );
      return () => {
        for (const one of undo) one();
      };
    },
  };
  const whole = lab.disk;
  const saved = new Map([...whole].map(([name, records]) => [name, new Map(records)]));
  lab.away.cloud = true;
  for (const [doubt, make] of Object.entries(doubts)) {
    await lab.node.stop();
    for (const [name, records] of saved) whole.set(name, new Map(records));
    const undo = make();
    await lab.begin();
    await eventually('it says who is away', () => /identify/.test(lab.report().missing.join()));
    await new Promise((resolve) => setTimeout(resolve, 50));
    t.match(await refusal(lab.add('new')), /^notReady: .*identify: /, doubt);
    undo();
  }
  await lab.node.stop();
  for (const [name, records] of saved) whole.set(name, new Map(records));
  await lab.begin();
  await degraded(lab);
  t.ok(idle.includes(await ipOf(lab.add('new'))), 'without any doubt one is served');
});

t.test('degraded: an address that went meanwhile is told of, and its pod can be deleted', async (t) => {
  const told: unknown[] = [];
  const log: Log = { debug() {}, info() {}, warn() {}, error: (fields, message) => told.push({ ...fields, message }) };
  const lab = await start(t, { log });
  const eniId = lab.truth()[0]?.eniId ?? '';
  lab.away.cloud = true;
  await lab.begin();
  await degraded(lab);
  const ip = await ipOf(lab.add('d'));
  t.same(lab.report().invalidLeases, [], 'from memory nothing is said against an address');
  await lab.change({ change: 'unassign', eniId, ips: [ip] });
  lab.away.cloud = false;
  await lab.serving();
  t.match(told, [{ ip, message: 'a leased address is gone in the cloud' }]);
  t.match(lab.report().invalidLeases, [{ grant: { address: { ipv4: ip } } }]);
  t.equal((await lab.del('d'))?.grant.address.ipv4, ip);
  await atRest(lab);
  t.same(troubles(lab), []);
});

t.test('degraded: a pod that comes back gets the address that is kept for it', async (t) => {
  const lab = await start(t);
  const ask = () =>
    lab.node.allocator.allocate(
      {
        sandbox: { ...sandboxOf('set-0'), containerId: `c-${Math.random()}` },
        untilMs: Date.now() + 5_000,
        reserveMs: 60_000,
      },
      new AbortController().signal,
    );
  const { grant, sandbox } = await ask();
  await lab.node.allocator.release({ ...sandbox, reason: 'test' }, new AbortController().signal);
  lab.away.cloud = true;
  await lab.begin();
  await degraded(lab);
  t.equal((await ask()).grant.address.ipv4, grant.address.ipv4);
});

const sandboxOf = (name: string) => ({
  ifName: 'eth0',
  netns: '',
  network: '',
  pod: { namespace: 'default', name, uid: null },
});

t.test('degraded: no call that changes anything is made, and the slow are not waited for', async (t) => {
  // A tenth of a call's time is the patience with whoever should tell.
  const lab = await start(t, { settings: { callTimeoutMs: 500 }, timeoutMs: 1_000 });
  await lab.fault('DescribeNetworkInterfaces', { effect: 'drop', how: 'hang', times: 1_000 });
  await lab.begin();
  await degraded(lab);
  const before = lab.cloud.live.gateway.ledger.lastSeq;
  const added = await lab.add('d');
  await lab.del('d');
  t.ok(added);
  const changed = lab.cloud.live.gateway.ledger.read(before, null).filter((one) => one.changed);
  t.same(changed, []);
  await lab.mend();
  await lab.serving();
  await atRest(lab);
  t.same(troubles(lab), []);
});
