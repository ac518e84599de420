import t from 'tap';
import { NODE_1, smallWorld, VSWITCH } from './small-world.ts';

function attached(instanceType = 'lab.small') {
  const world = smallWorld({ instanceType });
  const eni = world.create(0);
  world.at(0, 'AttachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 });
  world.model.advance(2_000);
  return { ...world, eniId: eni.eniId, primaryIp: eni.primaryIp };
}

t.test('addresses: an assign answers with the new ones only and takes them from the vSwitch', async (t) => {
  const { at, eniId, free, events } = attached();
  const before = free(2_000) ?? 0;
  const first = at(2_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 2 } });
  const second = at(3_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 3 } });
  t.equal(first.ips.length, 2);
  t.equal(new Set([...first.ips, ...second.ips]).size, 5);
  t.equal(free(3_000), before - 5);
  t.match(events.at(-1), { type: 'addressAssigned', eniId, instanceId: NODE_1, ip: second.ips[2] });
});

t.test('addresses: an assign takes no more than the type allows, all or nothing', async (t) => {
  const { at, eniId, code, free } = attached();
  const before = free(2_000);
  t.equal(code(2_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 6 } }), 'InvalidOperation.Ipv4CountExceeded');
  t.equal(free(2_000), before);
  at(2_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 5 } });
  t.equal(code(3_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } }), 'InvalidOperation.Ipv4CountExceeded');
  t.equal(code(3_000, 'AssignIpv6Addresses', { eniId, want: { count: 7 } }), 'InvalidOperation.Ipv6CountExceeded');
  t.equal(code(3_000, 'AssignIpv6Addresses', { eniId, want: { count: 6 } }), 'ok');
});

t.test('addresses: an ENI that is not attached holds 49 secondaries and 10 IPv6', async (t) => {
  const { create, code } = smallWorld();
  const { eniId } = create(0, { ipv4: { count: 48 }, ipv6: { count: 9 } });
  t.equal(code(200, 'AssignPrivateIpAddresses', { eniId, want: { count: 2 } }), 'MaxEniPrivateIpsCountExceeded');
  t.equal(code(200, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } }), 'ok');
  t.equal(code(400, 'AssignIpv6Addresses', { eniId, want: { count: 2 } }), 'MaxEniIpv6IpsCountExceeded');
});

t.test('addresses: calls on one ENI conflict while one is under way, calls on two do not', async (t) => {
  const { at, eniId, code, create } = attached();
  const other = create(2_000).eniId;
  at(2_500, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } });
  t.equal(code(2_599, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } }), 'Operation.Conflict');
  t.equal(code(2_599, 'AssignIpv6Addresses', { eniId, want: { count: 1 } }), 'Operation.Conflict');
  t.equal(code(2_599, 'AssignPrivateIpAddresses', { eniId: other, want: { count: 1 } }), 'ok');
  t.equal(code(2_600, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } }), 'ok');
});

t.test('addresses: an unassign gives back, refuses the primary and what is not there', async (t) => {
  const { at, eniId, primaryIp, code, free, events } = attached();
  const before = free(2_000);
  const { ips } = at(2_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 2 } });
  t.equal(code(3_000, 'UnassignPrivateIpAddresses', { eniId, ips: [primaryIp] }), 'InvalidIp.IpUnassigned');
  t.equal(
    code(3_000, 'UnassignPrivateIpAddresses', { eniId, ips: [...ips, '192.168.0.200'] }),
    'InvalidIp.IpUnassigned',
  );
  t.equal(free(3_000), (before ?? 0) - 2, 'a refused call changes nothing');
  at(3_000, 'UnassignPrivateIpAddresses', { eniId, ips });
  t.equal(free(3_000), before);
  t.match(events.at(-1), { type: 'addressReleased', eniId, instanceId: NODE_1, ip: ips[1] });
});

t.test('addresses: chosen ones must be usable, free and named once', async (t) => {
  const { at, eniId, primaryIp, code } = attached();
  const assign = (ips: string[]) => code(2_000, 'AssignPrivateIpAddresses', { eniId, want: { ips } });
  t.equal(assign(['nonsense']), 'InvalidIp.Address');
  t.equal(assign(['2001:db8:0:100::5']), 'InvalidIp.Address');
  t.equal(assign(['10.0.0.1']), 'InvalidVSwitchId.IpInvalid');
  for (const reserved of ['192.168.0.0', '192.168.0.253', '192.168.0.254', '192.168.0.255']) {
    t.equal(assign([reserved]), 'InvalidVSwitchId.IpInvalid', reserved);
  }
  t.equal(assign([primaryIp]), 'InvalidIp.IpAssigned');
  t.equal(assign(['192.168.0.99', '192.168.0.99']), 'InvalidIp.IpRepeated');
  t.same(at(2_000, 'AssignPrivateIpAddresses', { eniId, want: { ips: ['192.168.0.252'] } }).ips, ['192.168.0.252']);
});

t.test('addresses: no IPv6 without it on the vSwitch or in the type', async (t) => {
  const { model, create, code } = attached('ecs.g5.large');
  model.build(
    {
      vpcs: [],
      vSwitches: [{ vSwitchId: 'vsw-4', vpcId: 'vpc-lab', zoneId: 'cn-lab-a', cidr: '192.168.4.0/24', ipv6Cidr: null }],
      securityGroups: [],
      instances: [],
      instanceTypes: [],
    },
    2_000,
  );
  const { eniId } = create(2_000, { vSwitchId: 'vsw-4' });
  t.equal(code(3_000, 'AssignIpv6Addresses', { eniId, want: { count: 1 } }), 'InvalidVSwitch.Ipv6NotTurnOn');
  const mine =
    model.truth(3_000).enis.find((eni) => eni.instanceId === NODE_1 && eni.type === 'Secondary')?.eniId ?? '';
  t.equal(code(3_000, 'AssignIpv6Addresses', { eniId: mine, want: { count: 1 } }), 'InvalidOperation.Ipv6NotSupport');
});

t.test('addresses: Describe agrees with an assign and an unassign once they are answered', async (t) => {
  const { at, eniId, shown } = attached();
  const { ips } = at(3_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } });
  t.equal(shown(3_099, eniId)?.ipv4.length, 1);
  t.equal(shown(3_100, eniId)?.ipv4.length, 2);
  at(4_000, 'UnassignPrivateIpAddresses', { eniId, ips });
  t.equal(shown(4_099, eniId)?.ipv4.length, 2);
  t.equal(shown(4_100, eniId)?.ipv4.length, 1);
});

t.test('addresses: a released one is given out again as late as possible', async (t) => {
  const { at, eniId } = attached();
  const { ips } = at(2_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } });
  at(3_000, 'UnassignPrivateIpAddresses', { eniId, ips });
  const next = at(4_000, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } });
  t.not(next.ips[0], ips[0]);
});

t.test('addresses: a vSwitch of 252 gives 252 and no more', async (t) => {
  const { create, code, free } = smallWorld();
  t.equal(free(0), 250, 'two instances took theirs');
  for (let count = 0; count < 5; count += 1) create(0, { ipv4: { count: 49 } });
  t.equal(free(0), 0);
  const input = { vSwitchId: VSWITCH };
  t.throws(() => create(0, input), { code: 'InvalidVSwitchId.IpNotEnough' });
  const { eniId } = create(0, { vSwitchId: 'vsw-lab-2' });
  t.equal(code(200, 'AssignPrivateIpAddresses', { eniId, want: { count: 1 } }), 'ok');
});

t.test('addresses: a security group takes no more than its limit', async (t) => {
  const { create } = smallWorld({ settings: { addressesInNormalGroup: 6 } });
  create(0, { ipv4: { count: 3 } }); // with the two primaries of the instances: six
  t.throws(() => create(0), { code: 'SecurityGroupInstanceLimitExceed' });
});
