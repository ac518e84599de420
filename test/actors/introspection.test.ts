/** What may be seen of the actors of a node that serves. */
import t from 'tap';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import type { Inspected } from '../../src/ports/inspected.ts';
import { atRest } from './at-rest.ts';
import { eventually, oneNode, sandbox } from './one-node.ts';

t.test(
  'introspection: watching tells of every actor, then of each event and state; nobody watches for nothing',
  async (t) => {
    const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 2, coolDownMs: 5 } });
    t.teardown(() => lab.stop());
    await lab.serving();
    await atRest(lab);
    const seen: Inspected[] = [];
    const tree = lab.report().actors.map(({ path }) => path);
    const stop = lab.node.introspection.watch((event) => seen.push(event), { context: false });
    const withContexts: Inspected[] = [];
    const texts: string[] = [];
    const fully = lab.node.introspection.watch(
      (event, json) => {
        withContexts.push(event);
        texts.push(json?.() ?? '');
      },
      { context: true },
    );
    t.strictSame(
      seen.flatMap((one) => (one.kind === 'actor' && one.chart !== null ? [one.actor] : [])).sort(),
      tree.sort(),
    );
    await lab.add('a');
    const lease = `node/leases/lease:c-a/eth0`;
    t.match(
      seen.filter(({ actor }) => actor === lease).map((one) => (one.kind === 'state' ? one.state : one.kind)),
      ['actor', 'event', 'opening.allocating', 'event', 'opening.allocating', 'event', 'persisting', 'event', 'bound'],
    );
    t.ok(seen.some((one) => one.kind === 'event' && one.event.type === 'assign' && one.from === 'node/eniFactory'));
    t.ok(seen.some((one) => one.kind === 'event' && one.event.type === 'allocate' && one.from === null));
    t.strictSame(
      seen.map(({ seq }) => seq),
      seen.map((_, index) => index + 1),
    );
    JSON.stringify(seen);
    t.strictSame(
      texts.map((text) => JSON.parse(text)),
      JSON.parse(JSON.stringify(withContexts)),
      'as text the same, with contexts for who asked for them',
    );
    t.ok(withContexts.some((one) => one.kind === 'state' && one.context !== undefined));
    t.notOk(seen.some((one) => one.kind === 'state' && one.context !== undefined));
    fully();
    stop();
    stop();
    const before = seen.length;
    await lab.del('a');
    t.equal(seen.length, before, 'who has stopped watching is told nothing');

    const faulty = lab.node.introspection.watch(
      () => {
        throw new Error('a watcher that fails');
      },
      { context: true },
    );
    await lab.add('b');
    t.pass('and a watcher that throws disturbs nobody');
    faulty();
  },
);

t.test(
  'introspection: one actor in full, with what it would hear of, and nothing at a path where there is none',
  async (t) => {
    const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 2 } });
    t.teardown(() => lab.stop());
    await lab.serving();
    await lab.add('a');
    const { introspection } = lab.node;
    t.match(introspection.actor('node/leases/lease:c-a/eth0'), {
      ...{ chart: 'lease', state: 'bound', status: 'active', accepts: ['ask', 'forget', 'release'] },
      context: { sandbox: { pod: { name: 'a' } }, lease: { grant: { eni: { eniId: /^eni-/ } } } },
    });
    t.match(introspection.actor('node'), { chart: 'node', state: 'running.serving', children: /node\/leases/ });
    t.equal(introspection.actor('node/leases/lease:c-a'), null);
    t.equal(introspection.actor('elsewhere'), null);
  },
);

t.test('introspection: an ENI that assigns is in use since it came into use', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 2 } });
  t.teardown(() => lab.stop());
  await lab.serving();
  await atRest(lab);
  const [before] = lab.report().enis;
  await Promise.all(['a', 'b', 'c'].map((name) => lab.add(name)));
  await atRest(lab);
  const after = lab.report().enis.find(({ actor }) => actor === before?.actor);
  t.equal(after?.phaseSinceMs, before?.phaseSinceMs, 'of the phase');
  t.ok((after?.sinceMs ?? 0) > (before?.sinceMs ?? 0), 'of the inner state');
  t.ok((after?.phaseSinceMs ?? 0) > 0);
});

t.test('introspection: why a bound pod has its address, and how long each stage took', async (t) => {
  const lines: object[] = [];
  const log = { ...silentLog, info: (fields: object, msg: string) => void lines.push({ ...fields, msg }) };
  const lab = await oneNode({ settings: { minIdle: 2, maxIdle: 3, coolDownMs: 5 }, log });
  t.teardown(() => lab.stop());
  await lab.serving();
  await atRest(lab);
  const askedMs = Date.now();
  const before = { askedMs, podKnownMs: askedMs + 1 };
  await lab.node.allocator.allocate(
    { sandbox: sandbox('a'), untilMs: askedMs + 9_000, before, trace: 'the-trace' },
    new AbortController().signal,
  );
  t.match(
    lines.find((line) => 'msg' in line && line.msg === 'address bound'),
    { pod: 'default/a', trace: 'the-trace' },
  );
  const why = lab.node.introspection.why('default/a');
  const [lease] = lab.report().leases;
  t.match(why, {
    verdict: 'bound',
    leases: [{ ipv4: lease?.grant.address.ipv4, eniId: lease?.grant.eni.eniId }],
    considered: [],
  });
  t.strictSame(
    why.stages.map(({ stage }) => stage),
    ['asked', 'podKnown', 'placed', 'offered', 'persisted', 'answered'],
  );
  t.strictSame(
    why.stages.map(({ atMs, tookMs }, i) => atMs - tookMs === (why.stages[i - 1]?.atMs ?? atMs)),
    Array(6).fill(true),
  );
  t.match(why.decisions, [{ what: /^an idle address of eni-/ }]);
  t.match(why.answer, /^default\/a has [\d.]+ on eni-\S+ since \d\d:\d\d:\d\d UTC, by an idle address of eni-/);

  await lab.add('a');
  t.match(lab.node.introspection.why('default/a').decisions, why.decisions, 'asking again changes nothing');
  await lab.del('a');
  t.match(lab.node.introspection.why('default/a'), {
    verdict: 'unknown',
    answer: /had an address and has given it back/,
  });
  t.match(lab.node.introspection.why('default/z'), { verdict: 'unknown', answer: /nobody has asked/ });
});

t.test('introspection: why a pod waits: what was considered, what refuses, when the next try is', async (t) => {
  const lab = await oneNode({ settings: { holdDownMs: 60_000 }, instanceType: 'ecs.g6.large' });
  t.teardown(() => lab.stop());
  await lab.serving();
  await lab.refuse('CreateNetworkInterface', 'InvalidVSwitchId.IpNotEnough', 50);
  const late = Date.now() + 90_000;
  const gone = new AbortController();
  const asked = lab.add('a', late, gone.signal);
  asked.catch(() => {});
  await eventually('it waits for the hold', () => lab.node.introspection.why('default/a').nextTryMs !== null);
  const why = lab.node.introspection.why('default/a');
  t.match(why, { verdict: 'waiting', requests: [{ untilMs: late }], decisions: [{ what: /a new ENI in vsw-/ }] });
  t.ok((why.nextTryMs ?? 0) > Date.now(), 'the next try is to come');
  t.match(
    why.considered.find(({ what }) => what === 'a new ENI'),
    {
      ...{ verdict: 'refuses', why: /^every vSwitch ran dry; the first is asked again at/ },
    },
  );
  t.match(why.answer, /^default\/a waits since .*every vSwitch is on hold, the first until \d\d:.*IpNotEnough/s);
  gone.abort();
  await t.rejects(asked, { code: 'cancelled' });
  t.match(lab.node.introspection.why('default/a'), {
    verdict: 'unknown',
    answer: /got no address: the caller went away/,
  });
});

t.test('introspection: a command is an input like any other, and is in the journal', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 1 } });
  t.teardown(() => lab.stop());
  t.throws(() => lab.node.introspection.command('gc'), { code: 'notReady' });
  await lab.serving();
  await atRest(lab);
  const passMs = () => lab.report().gc?.lastPassMs ?? 0;
  const sweepMs = () =>
    (lab.node.introspection.actor('node/kernelKeeper') as { context: { thoroughMs: number } }).context.thoroughMs;
  const [firstPass, firstSweep] = [passMs(), sweepMs()];
  await new Promise((resolve) => setTimeout(resolve, 5));
  const calls = () => lab.calls('DescribeNetworkInterfaces').length;
  const before = calls();
  lab.node.introspection.command('gc');
  lab.node.introspection.command('sync');
  await eventually('a pass was made', () => passMs() > firstPass);
  await eventually('the host was looked at thoroughly', () => sweepMs() > firstSweep);
  await eventually('the cloud was asked', () => calls() > before);
  const { inputs } = lab.node.introspection.journal({ since: 0, limit: 1_000 });
  const told = inputs.filter(({ event }) => event.type === 'lookNow').map(({ actor }) => actor);
  t.strictSame(told, ['garbageCollector', 'cloudKeeper', 'kernelKeeper']);
});
