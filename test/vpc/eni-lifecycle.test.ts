import t from 'tap';
import { NODE_1, NODE_2, smallWorld, VSWITCH } from './small-world.ts';

t.test('ENI: a created one is Available, attaches over Attaching, and its device appears when InUse', async (t) => {
  const { model, events, at, create, status } = smallWorld();
  const eni = create(0, { ipv4: { count: 2 }, ipv6: { count: 3 } });
  t.equal(eni.status, 'Available');
  t.equal(eni.ipv4.length, 3, 'the primary address is one more');
  t.equal(eni.ipv4[0], eni.primaryIp);
  t.equal(eni.ipv6.length, 3);
  at(100, 'AttachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 });
  t.equal(status(1_199, eni.eniId), 'Attaching');
  t.equal(events.filter((event) => event.type === 'attached').length, 0, 'no device yet');
  t.equal(model.nextDueMs(), 1_200, '100 + 100 for the call + 1,000 attaching');
  t.equal(status(1_200, eni.eniId), 'InUse');
  t.match(events.at(-1), {
    type: 'attached',
    atMs: 1_200,
    eniId: eni.eniId,
    mac: eni.mac,
    instanceId: NODE_1,
    primary: false,
    deviceIndex: 1,
    ipv4: eni.ipv4,
    ipv6: eni.ipv6,
  });
  t.equal(model.nextDueMs(), null);
});

t.test('ENI: a device can come later than InUse', async (t) => {
  const { events, at, create, status } = smallWorld({ delays: { deviceMs: 300 } });
  const eni = create(0);
  at(0, 'AttachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 });
  t.equal(status(1_399, eni.eniId), 'InUse');
  t.notOk(events.some((event) => event.type === 'attached'));
  status(1_400, eni.eniId);
  t.match(events.at(-1), { type: 'attached', atMs: 1_400 });
});

t.test(
  'ENI: detach takes the device at once, is Available later, and can then be deleted; its addresses come back',
  async (t) => {
    const { events, at, create, status, code, free } = smallWorld();
    const before = free(0) ?? 0;
    const eni = create(0, { ipv4: { count: 4 } });
    t.equal(free(0), before - 5);
    at(0, 'AttachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 });
    t.equal(
      code(500, 'DetachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 }),
      'InvalidOperation.InvalidEniState',
    );
    at(2_000, 'DetachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 });
    t.match(events.at(-1), { type: 'detached', atMs: 2_000, eniId: eni.eniId, instanceId: NODE_1 });
    t.equal(code(2_500, 'DeleteNetworkInterface', { eniId: eni.eniId }), 'InvalidOperation.InvalidEniState');
    t.equal(status(3_099, eni.eniId), 'Detaching');
    t.equal(status(3_100, eni.eniId), 'Available');
    at(4_000, 'DeleteNetworkInterface', { eniId: eni.eniId });
    t.equal(status(5_099, eni.eniId), 'Deleting');
    t.equal(free(5_099), before - 5, 'not before it is gone');
    t.equal(status(5_100, eni.eniId), 'gone');
    t.equal(free(5_100), before);
    t.equal(events.filter((event) => event.type === 'addressReleased').length, 5);
    t.match(events.at(-1), { type: 'eniDeleted', eniId: eni.eniId });
    t.equal(code(6_000, 'DeleteNetworkInterface', { eniId: eni.eniId }), 'InvalidEniId.NotFound');
  },
);

t.test(
  'ENI: an instance takes no more than its type allows, and detaching ones count until they are off',
  async (t) => {
    const { at, create, code } = smallWorld({ instanceType: 'lab.small' });
    const enis = [create(0), create(0), create(0)];
    const attach = (nowMs: number, index: number) =>
      code(nowMs, 'AttachNetworkInterface', { eniId: enis[index]?.eniId ?? '', instanceId: NODE_1 });
    t.equal(attach(0, 0), 'ok');
    t.equal(attach(0, 1), 'ok');
    t.equal(attach(0, 2), 'EniPerInstanceLimitExceeded', 'attaching ones count');
    at(2_000, 'DetachNetworkInterface', { eniId: enis[0]?.eniId ?? '', instanceId: NODE_1 });
    t.equal(attach(2_100, 2), 'EniPerInstanceLimitExceeded', 'it is still Detaching');
    t.equal(attach(3_100, 2), 'ok');
  },
);

t.test('ENI: attach checks the address counts of the instance type', async (t) => {
  const { create, code } = smallWorld({ instanceType: 'ecs.g5.large' });
  const many = create(0, { ipv4: { count: 6 } });
  t.equal(
    code(0, 'AttachNetworkInterface', { eniId: many.eniId, instanceId: NODE_1 }),
    'InvalidOperation.Ipv4CountExceeded',
  );
  const dual = create(0, { ipv6: { count: 1 } });
  t.equal(
    code(0, 'AttachNetworkInterface', { eniId: dual.eniId, instanceId: NODE_1 }),
    'InvalidOperation.Ipv6NotSupport',
  );
});

t.test('ENI: an attach that fails silently goes back to Available', async (t) => {
  const { model, events, create, status } = smallWorld();
  const eni = create(0);
  const moment = { nowMs: 0, answerMs: 100, transition: { lastsMs: 400, fails: true } };
  model.perform('AttachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 }, moment);
  t.equal(status(499, eni.eniId), 'Attaching');
  t.equal(status(500, eni.eniId), 'Available');
  t.notOk(events.some((event) => event.type === 'attached'));
});

t.test('ENI: a detach that is stuck is cured by a second one', async (t) => {
  const { model, at, create, status } = smallWorld();
  const eni = create(0);
  const both = { eniId: eni.eniId, instanceId: NODE_1 };
  at(0, 'AttachNetworkInterface', both);
  const stuck = { nowMs: 2_000, answerMs: 2_100, transition: { lastsMs: 1_000_000, fails: false } };
  model.perform('DetachNetworkInterface', both, stuck);
  t.equal(status(60_000, eni.eniId), 'Detaching');
  at(60_000, 'DetachNetworkInterface', both);
  t.equal(status(61_100, eni.eniId), 'Available');
});

t.test('ENI: what is not there, not ours to move, or in the wrong place is refused by its own code', async (t) => {
  const { model, create, code } = smallWorld();
  const primary = model.truth(0).enis.find((eni) => eni.instanceId === NODE_1)?.eniId ?? '';
  const eni = create(0).eniId;
  t.equal(code(0, 'AttachNetworkInterface', { eniId: 'eni-none', instanceId: NODE_1 }), 'InvalidEniId.NotFound');
  t.equal(code(0, 'AttachNetworkInterface', { eniId: eni, instanceId: 'i-none' }), 'InvalidInstanceId.NotFound');
  t.equal(code(0, 'AttachNetworkInterface', { eniId: primary, instanceId: NODE_1 }), 'InvalidOperation.InvalidEniType');
  t.equal(code(0, 'DeleteNetworkInterface', { eniId: primary }), 'InvalidOperation.InvalidEniType');
  t.equal(
    code(0, 'DetachNetworkInterface', { eniId: primary, instanceId: NODE_1 }),
    'InvalidOperation.DetachPrimaryEniNotAllowed',
  );
  t.equal(code(0, 'DetachNetworkInterface', { eniId: eni, instanceId: 'i-none' }), 'InvalidEcsId.NotFound');
  model.perform(
    'AttachNetworkInterface',
    { eniId: eni, instanceId: NODE_1 },
    { nowMs: 0, answerMs: 0, transition: null },
  );
  t.equal(
    code(2_000, 'DetachNetworkInterface', { eniId: eni, instanceId: NODE_2 }),
    'InvalidParameter.EniNotBelongEcs',
  );
});

t.test('ENI: another zone or VPC cannot be attached', async (t) => {
  const { model, create, code } = smallWorld();
  model.build(
    {
      vpcs: [{ vpcId: 'vpc-2', cidr: '10.0.0.0/16', ipv6Cidr: null }],
      vSwitches: [
        { vSwitchId: 'vsw-b', vpcId: 'vpc-lab', zoneId: 'cn-lab-b', cidr: '192.168.9.0/24', ipv6Cidr: null },
        { vSwitchId: 'vsw-2', vpcId: 'vpc-2', zoneId: 'cn-lab-a', cidr: '10.0.0.0/24', ipv6Cidr: null },
      ],
      securityGroups: [{ securityGroupId: 'sg-2', vpcId: 'vpc-2', type: 'normal' }],
      instances: [],
      instanceTypes: [],
    },
    0,
  );
  const far = create(0, { vSwitchId: 'vsw-b' }).eniId;
  const foreign = create(0, { vSwitchId: 'vsw-2', securityGroupIds: ['sg-2'] }).eniId;
  const attach = (eniId: string) => code(0, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 });
  t.equal(attach(far), 'InvalidOperation.AvailabilityZoneMismatch');
  t.equal(attach(foreign), 'InvalidOperation.VpcMismatch');
});

t.test('ENI: a create that cannot have all its addresses takes none', async (t) => {
  const { model, code, free, create } = smallWorld();
  const base = { ...create(0), ipv4: { count: 0 }, ipv6: { count: 0 } };
  const left = free(0) ?? 0;
  model.change({ change: 'withhold', vSwitchId: VSWITCH, addresses: left - 3 }, 0);
  const wanted = { ...base, ipv4: { count: 3 }, primaryIp: null };
  t.equal(code(0, 'CreateNetworkInterface', wanted), 'InvalidVSwitchId.IpNotEnough');
  t.equal(free(0), 3);
  t.equal(code(0, 'CreateNetworkInterface', { ...wanted, ipv4: { count: 2 } }), 'ok');
  t.equal(free(0), 0);
});

t.test('ENI: Creating is seen when it is asked for, and Describe may lag behind', async (t) => {
  const { create, shown, at, status } = smallWorld({ delays: { creatingMs: 200, describeLagMs: 50 } });
  const eni = create(0);
  t.equal(eni.status, 'Creating');
  t.equal(shown(149, eni.eniId), null, 'not before the answer and the lag');
  t.equal(shown(150, eni.eniId)?.status, 'Creating');
  t.equal(status(300, eni.eniId), 'Available');
  t.equal(shown(349, eni.eniId)?.status, 'Creating');
  t.equal(shown(350, eni.eniId)?.status, 'Available');
  at(400, 'AttachNetworkInterface', { eniId: eni.eniId, instanceId: NODE_1 });
  t.equal(shown(449, eni.eniId)?.status, 'Available');
  t.equal(shown(450, eni.eniId)?.status, 'Attaching');
});
