/**
 * B10: an error in one small actor had no handler; it climbed to the parent and ended the process or, worse, only the machine, leaving a
 * live process that ignored everything. (b10-real-daemon.test.ts has metadata, pods and health.)
 */
import t from 'tap';
import { eventually, sandbox } from '../actors/one-node.ts';
import { checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, ipOf, names, type Rig, rig } from './rig.ts';

const settings = { maxIdle: CAPACITY, coolDownMs: 1_000 };
const json = 'application/json';

t.jobs = 4;

/** Answers that are no answers; what they stand in for is carried out, or not. */
const shapes: readonly (readonly [name: string, body: string, contentType: string])[] = [
  ['an empty body', '', json],
  ['HTML', '<html><body>Welcome</body></html>', 'text/html'],
  ['null', 'null', json],
  [
    'null for the address list',
    '{"RequestId":"R","AssignedPrivateIpAddressesSet":null,"PrivateIpSets":null,"NetworkInterfaceSets":null}',
    json,
  ],
  [
    'an ENI without MAC',
    '{"RequestId":"R","NetworkInterfaceId":"eni-x","PrivateIpSets":{"PrivateIpSet":[]},"NetworkInterfaceSets":{"NetworkInterfaceSet":[{"NetworkInterfaceId":"eni-x"}]}}',
    json,
  ],
  ['a list of numbers', '[1,2,3]', json],
  ['half a document', '{"RequestId":"R","NetworkInter', json],
];

const apis = [
  'CreateNetworkInterface',
  'AttachNetworkInterface',
  'AssignPrivateIpAddresses',
  'DescribeNetworkInterfaces',
];

for (const [shape, body, contentType] of shapes) {
  t.test(`B10: the OpenAPI answers 200 with ${shape}`, { buffered: true }, async (t) => {
    const lab = await rig(t, { settings });
    const untouched = watchForeign(lab);
    let pods = 0;
    for (const api of apis)
      for (const carriedOut of [true, false]) {
        await lab.plant({ api, effect: 'reply', body, contentType, carriedOut });
        const odd = await lab.add(`odd${pods}`).catch((error: Error) => error);
        if (odd instanceof Error) t.match(odd.message, /code: \w+, msg: .*\w/, `${api}: a refusal names its cause`);
        const normal = await lab.add(`normal${pods}`);
        t.ok(normal.grant.address.ipv4, `${api}: the second pod works`);
        t.match(lab.report().state, /serving/);
        await lab.unplant();
        await lab.del(`odd${pods}`);
        pods += 1;
        // Every second time from nothing, so that Create and Attach are met again.
        if (pods % 2 === 0) for (const { sandbox: held } of lab.report().leases) await lab.del(held.pod.name);
      }
    await checkRest(t, lab);
    untouched(t);
  });
}

for (const [what, text] of [
  ['no JSON', '{"version":1,"sandb'],
  ['null', 'null'],
  ['another shape', '{"version":1,"grant":{"address":"192.168.0.9"}}'],
  ['a version to come', '{"version":99}'],
] as const) {
  t.test(`B10: the record of one pod is ${what}`, { buffered: true }, async (t) => {
    const lab: Rig = await rig(t, { settings });
    const untouched = watchForeign(lab);
    const { leases } = await lab.adds(names('pod', 3));
    const [victim, ...others] = leases;
    const key = `c-${victim?.sandbox.pod.name}/eth0`;
    lab.disk.get('leases')?.set(key, text);
    await lab.restart();
    await eventually('its ENI is in use', () => lab.report().enis.every((eni) => eni.state.startsWith('inUse')));
    t.match(lab.report().state, /serving/, 'the node serves');
    t.match(
      lab.lines.filter((line) => line.level === 'error' && JSON.stringify(line.fields).includes(key)),
      [{ message: /cannot be read/ }],
      'said once, with its name',
    );
    t.strictSame(lab.report().leases.map(ipOf).sort(), others.map(ipOf).sort(), 'the other pods keep theirs');
    const fresh = await lab.adds(names('fresh', 4));
    t.strictSame(fresh.errors, [], 'new pods work at once');
    const given = fresh.leases.map(ipOf);
    t.notOk(
      given.includes(victim === undefined ? '' : ipOf(victim)),
      'the address that the record named is nobody else’s',
    );

    // Its DEL takes the record away; from the next start on all of the node can be used.
    t.equal(await lab.del(victim?.sandbox.pod.name ?? ''), null);
    t.notOk(lab.disk.get('leases')?.has(key));
    await lab.restart();
    await eventually('its ENIs are in use', () => lab.report().enis.every((eni) => eni.state.startsWith('inUse')));
    const { errors } = await lab.adds(names('fill', CAPACITY - lab.report().leases.length));
    t.strictSame(errors, []);
    t.equal(new Set(lab.report().leases.map(ipOf)).size, CAPACITY);
    await checkRest(t, lab);
    untouched(t);
  });
}

t.test('B10: a kernel and a store that fail as nobody foresaw end one request', { buffered: true }, async (t) => {
  const lab = await rig(t, { settings });
  await lab.add('first');
  await lab.add('spare');
  await lab.del('spare');
  await eventually('one is idle', () => lab.counts().idle === 1);
  lab.failWrites(1_000);
  await t.rejects(lab.add('unlucky'), { code: 'store', message: /no space left/ });
  lab.failWrites(0);
  t.ok(ipOf(await lab.add('second')));
  const { tearDownEni } = lab.kernel;
  lab.kernel.tearDownEni = () => {
    throw new TypeError('undefined is not a function');
  };
  for (const name of ['first', 'second']) await lab.del(name);
  t.ok(ipOf(await lab.add('third')), 'a call that throws is a call that failed');
  lab.kernel.tearDownEni = tearDownEni;
  await checkRest(t, lab);
});

t.test(
  'B10: when a supervisor is dead the node says that it failed, and turns callers away',
  { buffered: true },
  async (t) => {
    const lab = await rig(t, { settings });
    // Without ENIs: their actors outlive a factory that throws, until the process ends.

    const waiting = lab.node.failed.then((error) => error.message);
    // What no message of ours is: the factory cannot go on.
    lab.poison();
    t.match(await waiting, /eniFactory/, 'the cause is named, and the daemon ends with it');
    t.notMatch(lab.report().state, /serving/, 'never "ready"');
    await t.rejects(
      lab.node.allocator.allocate(
        { sandbox: sandbox('late'), untilMs: Date.now() + 1_000 },
        new AbortController().signal,
      ),
      { code: 'notReady' },
    );
  },
);
