import t, { type Test } from 'tap';
import { type CloudOptions, runCloud } from '../../../src/lab/cloud/run-cloud.ts';
import { ecsCalls, eventually } from './ecs-calls.ts';

const NODE_1 = 'i-lab-node-1';

/** Whatever came: looked into as deep as the test likes. */
interface Json {
  readonly [name: string]: Json;
}

async function lab(t: Test, options: CloudOptions = {}) {
  const cloud = await runCloud({ listen: '127.0.0.1:0', profile: 'fast', ...options });
  t.teardown(() => cloud.close());
  const ask = async (method: string, path: string, body?: unknown) => {
    const init =
      body === undefined ? { method } : { method, body: typeof body === 'string' ? body : JSON.stringify(body) };
    const response = await fetch(`${cloud.adminUrl}/${path}`, init);
    return { status: response.status, json: (await response.json()) as Json };
  };
  return { cloud, ask, calls: ecsCalls(cloud.url) };
}

t.test('admin: errors name the field', async (t) => {
  const { ask } = await lab(t);
  const problem = async (path: string, body: unknown) => {
    const { status, json } = await ask('POST', path, body);
    return [status, json.error?.[0]?.field];
  };
  t.same(await problem('faults', { api: 'CreateENI', effect: 'fail', code: 'x' }), [400, 'api']);
  t.same(await problem('faults', { api: '*', effect: 'explode' }), [400, 'effect']);
  t.same(
    await problem('faults', [
      { api: '*', effect: 'hold' },
      { api: '*', effect: 'delay' },
    ]),
    [400, '1.ms'],
  );
  t.same(await problem('faults', { api: '*', effect: 'hold', times: 0 }), [400, 'times']);
  t.same(await problem('change', { change: 'withhold', vSwitchId: 'vsw-lab-1' }), [400, 'addresses']);
  t.same(await problem('change', { change: 'withhold', vSwitchId: 'vsw-none', addresses: 1 }), [409, 'vSwitchId']);
  t.same(await problem('change', { change: 'deleteEni', eniId: 'eni-none' }), [409, 'eniId']);
  t.same(await problem('settings', { profile: 'slow' }), [400, 'profile']);
  t.same(await problem('settings', { delays: { createCallMs: -1 } }), [400, 'delays.createCallMs']);
  t.same(await problem('settings', { throttlePerMinute: { Nothing: 1 } }), [400, 'throttlePerMinute.Nothing']);
  t.same(await problem('topology', { vpcs: [{ vpcId: 'v', cidr: '10.0.0.0' }] }), [400, 'vpcs.0.cidr']);
  t.same(await problem('topology', { vSwitches: [{ vSwitchId: 'w', vpcId: 'v', zoneId: 'z', cidr: '10.0.0.0/24' }] }), [
    400,
    'vSwitches[0].vpcId',
  ]);
  t.same(await problem('metadata', { instanceId: 'i-none', listen: '127.0.0.1:0' }), [404, 'instanceId']);
  t.same(await problem('metadata', { instanceId: NODE_1, listen: 'nowhere' }), [400, 'listen']);
  t.same(await problem('faults', '{'), [400, null]);
  t.equal((await ask('DELETE', 'faults/fault-9')).status, 404);
  t.equal((await ask('GET', 'nothing')).status, 404);
  t.match((await ask('GET', 'ledger?since=x')).json, { error: [{ field: 'since' }] });
});

t.test('admin: the ledger and the truth tell what was asked and what is', async (t) => {
  const { ask, calls } = await lab(t);
  const eniId = (await calls.create({ secondaryPrivateIpAddressCount: 2 })).body?.networkInterfaceId;
  await calls.delete('eni-none').catch(() => {});
  const { json: ledger } = await ask('GET', 'ledger');
  t.match(ledger, { lastSeq: 2, forgotten: 0 });
  t.match(ledger.entries, [
    { api: 'CreateNetworkInterface', outcome: 'ok', changed: true, params: { SecondaryPrivateIpAddressCount: '2' } },
    { api: 'DeleteNetworkInterface', outcome: 'InvalidEniId.NotFound', status: 404, changed: false },
  ]);
  t.same((await ask('GET', 'ledger?since=1')).json.entries?.length, 1);
  t.same((await ask('GET', 'ledger?api=CreateNetworkInterface')).json.entries?.length, 1);
  const { json: truth } = await ask('GET', 'truth');
  t.equal(truth.enis?.length, 3);
  t.match(truth.enis?.[2], { eniId, status: 'Available', ipv4: { length: 3 }, instanceId: null, plugged: false });
  t.equal(truth.vSwitches?.[0]?.availableAddresses, 252 - 2 - 3);
});

t.test('admin: a VPC is built piece by piece and an instance in it can be used', async (t) => {
  const { ask, calls, cloud } = await lab(t);
  const { status, json } = await ask('POST', 'topology', {
    vpcs: [{ vpcId: 'vpc-2', cidr: '10.0.0.0/16' }],
    vSwitches: [{ vSwitchId: 'vsw-2', vpcId: 'vpc-2', zoneId: 'z', cidr: '10.0.0.0/29' }],
    securityGroups: [{ securityGroupId: 'sg-2', vpcId: 'vpc-2' }],
    instanceTypes: [{ instanceType: 'lab.own', enis: 2, ipv4PerEni: 3, ipv6PerEni: 0 }],
    instances: [{ instanceId: 'i-2', instanceType: 'lab.own', vSwitchId: 'vsw-2', securityGroupIds: ['sg-2'] }],
  });
  t.equal(status, 200, JSON.stringify(json.error));
  const create = () =>
    calls.create({ vSwitchId: 'vsw-2', securityGroupIds: ['sg-2'], secondaryPrivateIpAddressCount: 1 });
  const eniId = (await create()).body?.networkInterfaceId ?? '';
  await t.rejects(
    create(),
    { code: 'InvalidVSwitchId.IpNotEnough', statusCode: 403 },
    'a /29 has four usable addresses',
  );
  await calls.attach(eniId, 'i-2');
  await eventually(() => cloud.model.instanceOf(eniId) === 'i-2');
  const type = (await calls.instanceTypes(['lab.own'])).body?.instanceTypes?.instanceType?.[0];
  t.match(type, { eniQuantity: 2, eniPrivateIpAddressQuantity: 3, eniIpv6AddressQuantity: 0 });
});

t.test('admin: settings change what comes next', async (t) => {
  const { ask, calls } = await lab(t);
  const { json } = await ask('POST', 'settings', { profile: 'realistic', delays: { createCallMs: 5 }, pageMax: 1 });
  t.equal(json.delays?.createCallMs, 5);
  t.equal(json.delays?.attachingMs, 3_000);
  t.ok((await calls.describe()).body?.nextToken, 'two ENIs on pages of one');
  await ask('POST', 'settings', { throttlePerMinute: { CreateNetworkInterface: 0 } });
  await t.rejects(calls.create(), { code: 'Throttling.User', name: 'ThrottlingError' });
  t.match((await ask('GET', 'settings')).json, { pageMax: 1, throttlePerMinute: { CreateNetworkInterface: 0 } });
});

t.test('admin: changes out of band, seen by Describe and told as events', async (t) => {
  const { ask, calls } = await lab(t);
  const { body } = await calls.create({ secondaryPrivateIpAddressCount: 2 });
  const eniId = body?.networkInterfaceId ?? '';
  const ip = body?.privateIpSets?.privateIpSet?.[1]?.privateIpAddress ?? '';
  const since = (await ask('GET', 'events')).json.lastSeq;
  const waiting = ask('GET', `events?since=${since}&waitMs=10000`);
  const { status, json } = await ask('POST', 'change', [
    { change: 'unassign', eniId, ips: [ip] },
    { change: 'assign', eniId, ips: ['192.168.0.77'] },
    { change: 'assign', eniId, family: 6, count: 1 },
    {
      change: 'createEni',
      vSwitchId: 'vsw-lab-1',
      securityGroupIds: ['sg-lab'],
      instanceId: NODE_1,
      tags: { who: 'else' },
    },
    { change: 'withhold', vSwitchId: 'vsw-lab-2', addresses: 250 },
  ]);
  t.equal(status, 200, JSON.stringify(json.error));
  t.same(json.touched?.[1], ['192.168.0.77']);
  t.match((await waiting).json.events?.[0], { type: 'addressReleased', eniId, ip });
  const events = (await ask('GET', `events?since=${since}`)).json.events as unknown as readonly { type: string }[];
  t.same(
    events.map((event) => event.type),
    ['addressReleased', 'addressAssigned', 'addressAssigned', 'eniCreated', 'addressAssigned', 'attached'],
  );
  await eventually(async () => {
    const now = (await calls.attribute(eniId)).body?.privateIpSets?.privateIpSet?.map((one) => one.privateIpAddress);
    return !now?.includes(ip) && now?.includes('192.168.0.77') === true;
  });
  const foreign = (await calls.describe({ tag: [{ key: 'who', value: 'else' }] })).body?.networkInterfaceSets;
  t.match(foreign?.networkInterfaceSet, [{ instanceId: NODE_1, status: 'InUse' }]);
  t.equal((await calls.vSwitch('vsw-lab-2')).body?.availableIpAddressCount, 2);
});

t.test('admin: metadata of an instance at an address of its own, and no longer', async (t) => {
  const { ask } = await lab(t);
  const { json } = await ask('POST', 'metadata', { instanceId: 'i-lab-node-2', listen: '127.0.0.1:0' });
  t.equal(await (await fetch(`${json.url}/latest/meta-data/instance-id`)).text(), 'i-lab-node-2');
  t.same((await ask('GET', 'metadata')).json.listening, [json]);
  t.same((await ask('DELETE', `metadata?url=${encodeURIComponent(`${json.url}`)}`)).json, { closed: 1 });
  await t.rejects(fetch(`${json.url}/latest/meta-data/instance-id`));
});

t.test('run: an address in use or malformed is refused, and nothing is left listening', async (t) => {
  const { cloud } = await lab(t);
  const taken = new URL(cloud.url).host;
  await t.rejects(runCloud({ listen: taken }), { code: 'EADDRINUSE' });
  await t.rejects(runCloud({ listen: 'nowhere' }), RangeError);
  await t.rejects(runCloud({ listen: '127.0.0.1:0', metadata: [{ instanceId: NODE_1, listen: taken }] }), {
    code: 'EADDRINUSE',
  });
});
