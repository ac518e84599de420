import t from 'tap';
import { TopologyError } from '../../src/vpc/check-topology.ts';
import { VpcModel } from '../../src/vpc/model.ts';
import { defaultSettings } from '../../src/vpc/settings.ts';
import { defaultTopology, type Topology } from '../../src/vpc/topology.ts';
import { DESCRIBE_ENIS, NODE_1, NODE_2, smallWorld, VSWITCH } from './small-world.ts';

t.test('model: the same calls at the same times give the same world', async (t) => {
  const run = () => {
    const { model, at, create, events } = smallWorld({ settings: { jitter: 0.5 } });
    const { eniId } = create(0, { ipv4: { count: 2 }, ipv6: { count: 2 } });
    at(100, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 });
    at(5_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 2 } });
    return JSON.stringify([model.truth(9_000), events]);
  };
  t.equal(run(), run());
});

t.test('model: speed divides the delays', async (t) => {
  const { model, at, create } = smallWorld({ settings: { speed: 10 } });
  const { eniId } = create(0);
  t.equal(model.callMs('AttachNetworkInterface'), 10);
  at(0, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 });
  t.equal(model.nextDueMs(), 110);
});

t.test('paging: every ENI is seen once, by token and by number, also when one goes away meanwhile', async (t) => {
  const { model, at, create } = smallWorld({ settings: { pageMax: 4 } });
  const made = Array.from({ length: 11 }, () => create(0, { tags: { creator: 'enactor' } }).eniId);
  const tags = [{ key: 'creator', value: 'enactor' }];
  const page = (nextToken: string | null, maxResults: number) =>
    at(500, 'DescribeNetworkInterfaces', { ...DESCRIBE_ENIS, tags, page: { kind: 'token', nextToken, maxResults } });
  const seen: string[] = [];
  let token = '';
  do {
    const { items, nextToken } = page(token || null, 100);
    t.ok(items.length <= 4);
    seen.push(...items.map((eni) => eni.eniId));
    if (token === '') model.change({ change: 'deleteEni', eniId: made[0] ?? '' }, 500);
    token = nextToken;
  } while (token !== '');
  t.same(seen, made);
  t.throws(() => page('nonsense', 10), { code: 'InvalidParameter' });
  const numbered = at(600, 'DescribeNetworkInterfaces', {
    ...DESCRIBE_ENIS,
    tags,
    page: { kind: 'number', pageNumber: 3, pageSize: 4 },
  });
  t.same(
    numbered.items.map((eni) => eni.eniId),
    made.slice(9),
  );
  t.match(numbered, { totalCount: 10, pageNumber: 3, pageSize: 4, nextToken: '' });
});

t.test('describe: filters add up, lists are any-of, unknown ids are an empty answer', async (t) => {
  const { at, create } = smallWorld();
  const one = create(0, { tags: { a: '1', b: '2' }, name: 'first' });
  const two = create(0, { tags: { a: '1' }, vSwitchId: 'vsw-lab-2' });
  const find = (filter: Partial<typeof DESCRIBE_ENIS>) =>
    at(500, 'DescribeNetworkInterfaces', { ...DESCRIBE_ENIS, ...filter }).items.map((eni) => eni.eniId);
  t.same(find({ tags: [{ key: 'a', value: '1' }] }), [one.eniId, two.eniId]);
  t.same(find({ tags: [{ key: 'b', value: null }] }), [one.eniId]);
  t.same(find({ tags: [{ key: 'a', value: '1' }], vSwitchId: 'vsw-lab-2' }), [two.eniId]);
  t.same(find({ eniIds: [two.eniId, 'eni-none', one.eniId] }), [one.eniId, two.eniId]);
  t.same(find({ eniIds: ['eni-none'] }), []);
  t.same(find({ ips: [two.primaryIp] }), [two.eniId]);
  t.same(find({ name: 'first' }), [one.eniId]);
  t.equal(find({ instanceId: NODE_1 }).length, 1);
  t.equal(find({ type: 'Primary' }).length, 2);
  t.equal(find({ status: 'Available', securityGroupId: 'sg-lab' }).length, 2);
});

t.test('modify: name, description and the whole set of security groups', async (t) => {
  const { model, at, create, code, events, shown } = smallWorld();
  model.build(
    {
      vpcs: [],
      vSwitches: [],
      securityGroups: [
        { securityGroupId: 'sg-b', vpcId: 'vpc-lab', type: 'normal' },
        { securityGroupId: 'sg-e', vpcId: 'vpc-lab', type: 'enterprise' },
      ],
      instances: [],
      instanceTypes: [],
    },
    0,
  );
  const { eniId } = create(0);
  const none = {
    eniId,
    name: null,
    description: null,
    securityGroupIds: null,
    deleteOnRelease: null,
    sourceDestCheck: null,
    queueNumber: null,
  };
  at(200, 'ModifyNetworkInterfaceAttribute', { ...none, name: 'new', securityGroupIds: ['sg-b', 'sg-lab'] });
  t.match(shown(300, eniId), { name: 'new', description: '', securityGroupIds: ['sg-b', 'sg-lab'] });
  t.match(events.at(-1), { type: 'securityGroupsChanged', eniId, securityGroupIds: ['sg-b', 'sg-lab'] });
  const groups = (ids: string[]) => code(300, 'ModifyNetworkInterfaceAttribute', { ...none, securityGroupIds: ids });
  t.equal(groups(['sg-b', 'sg-e']), 'InvalidOperation.MultiGroupType');
  t.equal(groups(['sg-none']), 'InvalidSecurityGroupId.NotFound');
  t.equal(groups(['1', '2', '3', '4', '5', '6']), 'JoinedGroupLimitExceed');
});

t.test('tags: added to what is there, refused when malformed or unknown', async (t) => {
  const { at, create, code, shown } = smallWorld();
  const { eniId } = create(0, { tags: { a: '1' } });
  at(200, 'TagResources', { resourceType: 'eni', ids: [eniId], tags: { b: '2' } });
  t.same(shown(300, eniId)?.tags, { a: '1', b: '2' });
  const tag = (ids: string[], tags: Record<string, string>) =>
    code(300, 'TagResources', { resourceType: 'eni', ids, tags });
  t.equal(tag(['eni-none'], { b: '2' }), 'InvalidResourceId.NotFound');
  t.equal(tag([eniId], { 'acs:x': '2' }), 'InvalidTagKey.Malformed');
  const many = Object.fromEntries(Array.from({ length: 19 }, (_, index) => [`k${index}`, '']));
  t.equal(tag([eniId], many), 'QuotaExceed.Tags');
});

t.test('metadata: learns of a MAC after InUse, of addresses after the answer, forgets both late', async (t) => {
  const { model, at, create } = smallWorld();
  const macs = (nowMs: number) => model.metadata(NODE_1, nowMs)?.enis.map((eni) => eni.mac);
  const [primary] = macs(0) ?? [];
  const eni = create(0);
  at(100, 'AttachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 }); // InUse at 1,200
  t.same(macs(1_699), [primary]);
  t.same(macs(1_700), [primary, eni.mac]);
  t.same(model.metadata(NODE_2, 1_700)?.enis.length, 1, 'another instance knows nothing of it');
  const ipv4 = (nowMs: number) => model.metadata(NODE_1, nowMs)?.enis[1]?.ipv4;
  const { ips } = at(2_000, 'AssignPrivateIpAddresses', { eniId: eni.eniId, want: { count: 1 } }); // answered at 2,100
  t.same(ipv4(2_599), [eni.primaryIp]);
  t.same(ipv4(2_600), [eni.primaryIp, ...ips]);
  at(3_000, 'UnassignPrivateIpAddresses', { eniId: eni.eniId, ips });
  t.same(ipv4(3_599), [eni.primaryIp, ...ips]);
  t.same(ipv4(3_600), [eni.primaryIp]);
  at(4_000, 'DetachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 }); // Available at 5,100
  t.same(macs(5_599), [primary, eni.mac]);
  t.same(macs(5_600), [primary]);
  t.equal(model.metadata('i-none', 0), null);
});

t.test('metadata: gateway, netmask and prefixes are those of the vSwitch', async (t) => {
  const { model } = smallWorld();
  t.match(model.metadata(NODE_1, 0)?.enis[0], {
    netmask: '255.255.255.0',
    gateway: '192.168.0.253',
    vSwitchCidr: '192.168.0.0/24',
    ipv6Gateway: '2001:db8:0:100:ffff:ffff:ffff:fff7',
    vpcIpv6Cidr: '2001:db8:0:100::/56',
  });
});

t.test('out of band: addresses and ENIs change behind our back, and who listens is told', async (t) => {
  const { model, at, create, events, status, free } = smallWorld();
  const { eniId } = create(0, { ipv4: { count: 2 } });
  at(0, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 });
  const ip = model.truth(2_000).enis.find((eni) => eni.eniId === eniId)?.ipv4[1] ?? '';
  model.change({ change: 'unassign', eniId, ips: [ip] }, 2_000);
  t.match(events.at(-1), { type: 'addressReleased', ip, instanceId: NODE_1 });
  const [added] = model.change({ change: 'assign', eniId, family: 4, want: { count: 1 } }, 2_000);
  t.match(events.at(-1), { type: 'addressAssigned', ip: added });
  model.change({ change: 'detachEni', eniId }, 2_000);
  t.match(events.at(-1), { type: 'detached', eniId });
  t.equal(status(2_000, eniId), 'Available');
  const before = free(2_000) ?? 0;
  model.change({ change: 'deleteEni', eniId }, 2_000);
  t.equal(status(2_000, eniId), 'gone');
  t.equal(free(2_000), before + 3);
  t.throws(() => model.change({ change: 'deleteEni', eniId }, 2_000), { code: 'InvalidEniId.NotFound' });
});

t.test('out of band: a pinned status holds, a passing one ends when told', async (t) => {
  const { model, at, create, status, events } = smallWorld();
  const { eniId } = create(0);
  at(0, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 });
  model.change({ change: 'setEniStatus', eniId, status: 'Attaching', forMs: null }, 500);
  t.equal(status(100_000, eniId), 'Attaching', 'what was planned does not happen');
  model.change({ change: 'setEniStatus', eniId, status: 'Attaching', forMs: 50 }, 100_000);
  t.equal(status(100_050, eniId), 'InUse');
  t.match(events.at(-1), { type: 'attached', eniId });
  model.change({ change: 'setEniStatus', eniId, status: 'Detaching', forMs: 50 }, 100_100);
  t.equal(status(100_150, eniId), 'Available');
});

t.test("out of band: somebody else's ENI takes a slot, and a service's cannot be touched", async (t) => {
  const { model, create, code } = smallWorld({ instanceType: 'lab.tiny' });
  const [foreign = ''] = model.change(
    {
      change: 'createEni',
      vSwitchId: VSWITCH,
      securityGroupIds: ['sg-lab'],
      instanceId: NODE_1,
      secondaries: 1,
      ipv6: 0,
      tags: {},
      serviceManaged: true,
    },
    0,
  );
  const mine = create(0).eniId;
  t.equal(code(0, 'AttachNetworkInterface', { eniId: mine, instanceId: NODE_1 }), 'EniPerInstanceLimitExceeded');
  t.equal(
    code(0, 'DetachNetworkInterface', { eniId: foreign, instanceId: NODE_1 }),
    'InvalidOperation.EniServiceManaged',
  );
});

t.test(
  'out of band: an instance that is released takes its ENIs with it, those that stay become Available',
  async (t) => {
    const { model, at, create, status } = smallWorld();
    const goes = create(0, { deleteOnRelease: true }).eniId;
    const stays = create(0, { deleteOnRelease: false }).eniId;
    for (const eniId of [goes, stays]) at(0, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 });
    model.change({ change: 'releaseInstance', instanceId: NODE_1 }, 5_000);
    t.equal(status(5_000, goes), 'gone');
    t.equal(status(5_000, stays), 'Available');
    t.same(
      model.truth(5_000).instances.map((one) => one.instanceId),
      [NODE_2],
    );
  },
);

t.test('topology: what does not fit is refused by its field and nothing is built', async (t) => {
  const base = defaultTopology();
  const [first, second] = base.instances;
  const [vsw] = base.vSwitches;
  if (first === undefined || second === undefined || vsw === undefined) throw new Error('the default has them');
  const broken: [string, Topology][] = [
    ['vSwitches[0].vpcId', { ...base, vSwitches: [{ ...vsw, vpcId: 'vpc-none' }] }],
    ['vSwitches[0].cidr', { ...base, vSwitches: [{ ...vsw, cidr: '10.0.0.0/24' }] }],
    ['vSwitches[1].vSwitchId', { ...base, vSwitches: [vsw, vsw] }],
    ['vSwitches[0].cidr', { ...base, vSwitches: [vsw, { ...vsw, vSwitchId: 'vsw-b', ipv6Cidr: null }] }],
    ['instances[0].vSwitchId', { ...base, instances: [{ ...first, vSwitchId: 'vsw-none' }] }],
    ['instances[1].instanceType', { ...base, instances: [first, { ...second, instanceType: 'x' }] }],
    ['instances[0].primaryIp', { ...base, instances: [{ ...first, primaryIp: '192.168.0.253' }] }],
    [
      'instances[1].primaryIp',
      { ...base, instances: [first, second].map((one) => ({ ...one, primaryIp: '192.168.0.9' })) },
    ],
  ];
  for (const [field, topology] of broken) {
    t.throws(() => new VpcModel({ topology, nowMs: 0, settings: defaultSettings('fast') }), {
      name: 'TopologyError',
      field,
    });
  }
  const { model } = smallWorld();
  const before = JSON.stringify(model.truth(0));
  const again = { ...base, instances: [{ ...first, instanceId: 'i-new' }] };
  t.throws(() => model.build(again, 0), TopologyError);
  t.equal(JSON.stringify(model.truth(0)), before);
});

t.test('topology: a chosen primary address is not given to an instance that takes any', async (t) => {
  const base = defaultTopology();
  const instances = base.instances.map((one, index) => ({ ...one, primaryIp: index === 1 ? '192.168.0.1' : null }));
  const model = new VpcModel({ topology: { ...base, instances }, nowMs: 0 });
  const ip = (id: string) => model.truth(0).enis.find((eni) => eni.instanceId === id)?.primaryIp;
  t.equal(ip(NODE_2), '192.168.0.1');
  t.not(ip(NODE_1), '192.168.0.1');
});
