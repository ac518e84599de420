/**
 * What port Cloud promises, run against the real adapter over HTTP and against its fake: the same calls, the same failures, the same
 * words. Both stand on the model of src/vpc in its fast profile; only what is between the port and the model differs.
 */
import type { Test } from 'tap';
import type { Cloud, CloudError, CreateEni } from '../../src/ports/cloud.ts';
import type { Fault } from '../../src/vpc/faults.ts';
import type { VpcModel } from '../../src/vpc/model.ts';
import type { Settings } from '../../src/vpc/settings.ts';

export type CloudUnderTest = {
  readonly cloud: Cloud;
  readonly model: VpcModel;
  readonly nowMs: () => number;
  /** Returns its id. */
  readonly plant: (fault: Fault) => string;
  readonly release: (faultId: string) => void;
  /** Lets so much time pass. */
  readonly pass: (ms: number) => Promise<void>;
  readonly lastCall: (api: string) => { readonly params: Readonly<Record<string, string>> } | undefined;
};

export type NewCloud = (t: Test, settings: Partial<Settings>) => Promise<CloudUnderTest>;

const INSTANCE = 'i-lab-node-1';
const wanted: CreateEni = {
  vSwitchId: 'vsw-lab-2',
  securityGroupIds: ['sg-lab'],
  ipv4Count: 3,
  ipv6Count: 1,
  tags: { creator: 'enactor', 'enactor/instance': INSTANCE },
  description: 'made by a test',
  clientToken: 'token-1',
};
const never = new AbortController().signal;

async function failure(call: Promise<unknown>): Promise<CloudError> {
  return (await call.then(
    () => ({ code: 'no failure' }),
    (thrown: unknown) => thrown,
  )) as CloudError;
}

/** `timeoutMs` is the bound on one call that the clouds under test were given. */
export function cloudContract(t: Test, name: string, newCloud: NewCloud, timeoutMs: number): void {
  const until = async ({ cloud, pass }: CloudUnderTest, eniId: string, status: string) => {
    for (;;) {
      const [eni] = await cloud.describeEnis({ eniIds: [eniId] }, never);
      if ((eni?.status ?? 'gone') === status) return eni;
      await pass(2);
    }
  };
  const truthOf = ({ model, nowMs }: CloudUnderTest, eniId: string) =>
    model.truth(nowMs()).enis.find((eni) => eni.eniId === eniId);

  t.test(`${name}: an ENI's life, and calls that find their work done`, async (t) => {
    const under = await newCloud(t, {});
    const { cloud } = under;
    const created = await cloud.createEni(wanted, never);
    t.match(created, { type: 'Secondary', vSwitchId: 'vsw-lab-2', tags: wanted.tags, instanceId: null });
    t.equal(created.ipv4.length, 3);
    t.equal(created.ipv6.length, 1);
    t.equal(created.ipv4[0], truthOf(under, created.eniId)?.primaryIp, 'the primary address comes first');
    t.match(truthOf(under, created.eniId), { deleteOnRelease: true, sourceDestCheck: false });
    t.strictSame(await cloud.createEni(wanted, never), created, 'the same token makes nothing twice');
    await cloud.attachEni(created.eniId, INSTANCE, never);
    t.match(await until(under, created.eniId, 'InUse'), { instanceId: INSTANCE, mac: created.mac });
    const tagged = await cloud.describeEnis({ tags: { creator: 'enactor' } }, never);
    t.strictSame(
      tagged.map(({ eniId }) => eniId),
      [created.eniId],
    );
    t.equal((await cloud.describeEnis({ instanceId: INSTANCE }, never)).length, 2);
    t.strictSame(await cloud.describeEnis({ eniIds: [] }, never), []);
    t.strictSame(await cloud.describeEnis({ eniIds: ['eni-unknown'] }, never), []);

    // A call may have its turn before it is settled what it asks for; one that is given up meanwhile is told so.
    await cloud.turn?.('assignIpv4', created.eniId, false, never);
    if (cloud.turn !== undefined)
      await t.rejects(cloud.turn('createEni', 'vsw-lab-2', false, AbortSignal.abort()), { code: 'cancelled' });
    const added = await cloud.assignIpv4(created.eniId, 2, 'token-2', never);
    t.equal(added.length, 2);
    t.strictSame(
      await cloud.assignIpv4(created.eniId, 2, 'token-2', never),
      added,
      'the same token adds nothing twice',
    );
    await cloud.unassignIpv4(created.eniId, [added[0] ?? ''], never);
    await cloud.unassignIpv4(created.eniId, added, never);
    t.strictSame(truthOf(under, created.eniId)?.ipv4, created.ipv4, 'one that was gone did not save the other');
    await cloud.unassignIpv4(created.eniId, added, never);
    await cloud.unassignIpv4(created.eniId, [], never);

    await cloud.detachEni(created.eniId, INSTANCE, never);
    await until(under, created.eniId, 'Available');
    await cloud.deleteEni(created.eniId, never);
    await until(under, created.eniId, 'gone');
    await cloud.deleteEni(created.eniId, never);
    await cloud.detachEni(created.eniId, INSTANCE, never);
    await cloud.unassignIpv4(created.eniId, added, never);
    t.match(await failure(cloud.attachEni(created.eniId, INSTANCE, never)), { cloudCode: 'InvalidEniId.NotFound' });
    t.match(await failure(cloud.assignIpv4(created.eniId, 1, 'token-3', never)), {
      code: 'cloud',
      cloudCode: 'InvalidEniId.NotFound',
    });
  });

  t.test(`${name}: IPv6 addresses are assigned and given back as IPv4 ones are`, async (t) => {
    const under = await newCloud(t, {});
    const { cloud, plant } = under;
    const { eniId, ipv4, ipv6 } = await cloud.createEni(wanted, never);
    const added = await cloud.assignIpv6(eniId, 2, 'token-6', never);
    t.equal(added.length, 2);
    for (const ip of added) t.match(ip, /^2001:db8:0:101:/, 'in canonical form');
    t.strictSame(await cloud.assignIpv6(eniId, 2, 'token-6', never), added, 'the same token adds nothing twice');
    t.match(await failure(cloud.assignIpv6(eniId, 1, 'token-6', never)), { code: 'tokenSpent' });
    t.strictSame(truthOf(under, eniId)?.ipv6, [...ipv6, ...added]);
    t.strictSame(truthOf(under, eniId)?.ipv4, ipv4, 'the other family is as it was');
    const [described] = await cloud.describeEnis({ eniIds: [eniId] }, never);
    t.strictSame(described?.ipv6, [...ipv6, ...added]);
    await cloud.unassignIpv6(eniId, [added[0] ?? ''], never);
    await cloud.unassignIpv6(eniId, added, never);
    t.strictSame(truthOf(under, eniId)?.ipv6, ipv6, 'one that was gone did not save the other');
    await cloud.unassignIpv6(eniId, added, never);
    await cloud.unassignIpv6(eniId, [], never);

    plant({ api: 'AssignIpv6Addresses', times: 1, params: {}, effect: 'drop', how: 'close' });
    t.match(await failure(cloud.assignIpv6(eniId, 1, 'token-7', never)), { code: 'cloudUnreachable', cloudCode: '' });
    t.equal((await cloud.assignIpv6(eniId, 1, 'token-7', never)).length, 1, 'its token learns what came of it');
    t.equal(truthOf(under, eniId)?.ipv6.length, 2);
    for (const [cloudCode, code] of [
      ['InvalidVSwitch.Ipv6NotTurnOn', 'ipv6Off'],
      ['InvalidOperation.Ipv6NotSupport', 'ipv6Off'],
      ['InvalidOperation.Ipv6CountExceeded', 'eniFull'],
      ['MaxEniIpv6IpsCountExceeded', 'eniFull'],
    ] as const) {
      const api = 'AssignIpv6Addresses';
      plant({ api, times: 1, params: {}, effect: 'fail', code: cloudCode, status: null, message: 'says the cloud' });
      t.match(await failure(cloud.assignIpv6(eniId, 1, `token-${cloudCode}`, never)), { code, cloudCode });
    }
    t.match(await failure(cloud.assignIpv6('eni-unknown', 1, 'token-8', never)), {
      cloudCode: 'InvalidEniId.NotFound',
    });
    await cloud.unassignIpv6('eni-unknown', added, never);
  });

  t.test(`${name}: a description has no more and no less than the port says`, async (t) => {
    const { cloud } = await newCloud(t, {});
    const { ipv4, ipv6, mac, eniId, ...rest } = await cloud.createEni(wanted, never);
    t.match(mac, /^[0-9a-f:]{17}$/);
    t.match(eniId, /^eni-/);
    t.equal(ipv4.length + ipv6.length, 4);
    t.strictSame(rest, {
      status: 'Available',
      type: 'Secondary',
      vpcId: 'vpc-lab',
      vSwitchId: 'vsw-lab-2',
      zoneId: 'cn-lab-a',
      securityGroupIds: ['sg-lab'],
      tags: wanted.tags,
      instanceId: null,
    });
  });

  t.test(`${name}: what a type allows and what a vSwitch is`, async (t) => {
    const { cloud } = await newCloud(t, {});
    t.strictSame(await cloud.instanceLimits('ecs.g7.large', never), {
      instanceType: 'ecs.g7.large',
      enis: 3,
      ipv4PerEni: 6,
      ipv6PerEni: 6,
    });
    t.match(await failure(cloud.instanceLimits('ecs.unheard.of', never)), { code: 'cloud', cloudCode: '' });
    t.strictSame(await cloud.vSwitches(['vsw-lab-2', 'vsw-unknown'], never), [
      {
        vSwitchId: 'vsw-lab-2',
        vpcId: 'vpc-lab',
        zoneId: 'cn-lab-a',
        cidr: '192.168.1.0/24',
        ipv6Cidr: '2001:db8:0:101::/64',
        availableAddresses: 252,
      },
    ]);
  });

  t.test(`${name}: a listing takes all pages, and a page that fails fails it whole`, async (t) => {
    const { cloud, plant } = await newCloud(t, { pageMax: 2 });
    for (let n = 0; n < 5; n += 1)
      await cloud.createEni({ ...wanted, ipv6Count: 0, ipv4Count: 1, clientToken: `t${n}` }, never);
    const all = await cloud.describeEnis({}, never);
    t.equal(new Set(all.map(({ eniId }) => eniId)).size, 6, 'five and the primary');
    plant({
      api: 'DescribeNetworkInterfaces',
      times: 1,
      params: {},
      effect: 'fail',
      code: 'InternalError',
      status: null,
      message: null,
    });
    t.match(await failure(cloud.describeEnis({}, never)), { code: 'cloud', cloudCode: 'InternalError' });
  });

  t.test(`${name}: refusals keep the cloud's code and request id, and the table says what they are`, async (t) => {
    const { cloud, plant } = await newCloud(t, {});
    for (const [cloudCode, code] of [
      ['Throttling.User', 'throttled'],
      ['InvalidVSwitchId.IpNotEnough', 'vSwitchEmpty'],
      ['EniPerInstanceLimitExceeded', 'eniQuota'],
      ['Something.New', 'cloud'],
      ['Forbidden.RAM', 'permission'], // the last: over HTTP it is not asked again for a while
    ] as const) {
      const api = 'CreateNetworkInterface';
      plant({ api, times: 1, params: {}, effect: 'fail', code: cloudCode, status: null, message: 'says the cloud' });
      const failed = await failure(cloud.createEni(wanted, never));
      t.match(failed, { code, cloudCode });
      t.match(failed.detail, new RegExp(`^${cloudCode}, request [0-9A-F-]+, ${api}: says the cloud`));
    }
  });

  t.test(`${name}: an answer that never comes or is cut says that nobody answered; the call was made`, async (t) => {
    const under = await newCloud(t, {});
    const { cloud, plant } = under;
    const created = await cloud.createEni(wanted, never);
    for (const how of ['close', 'hang'] as const) {
      plant({ api: 'AssignPrivateIpAddresses', times: 1, params: {}, effect: 'drop', how });
      const failed = await failure(cloud.assignIpv4(created.eniId, 1, `token-${how}`, never));
      t.match(failed, { code: 'cloudUnreachable', cloudCode: '' }, how);
      t.match(failed.detail, /^AssignPrivateIpAddresses: /);
    }
    t.equal(truthOf(under, created.eniId)?.ipv4.length, 5);
    const again = await cloud.assignIpv4(created.eniId, 1, 'token-close', never);
    t.equal(again.length, 1, 'its token learns what came of it');
    t.equal(truthOf(under, created.eniId)?.ipv4.length, 5);
  });

  t.test(`${name}: a held call waits, is not made meanwhile, and goes on when it is let`, async (t) => {
    const under = await newCloud(t, {});
    const created = await under.cloud.createEni(wanted, never);
    const id = under.plant({ api: 'AssignPrivateIpAddresses', times: 1, params: {}, effect: 'hold' });
    let done = false;
    const call = under.cloud.assignIpv4(created.eniId, 1, 'token-2', never).then((ips) => {
      done = true;
      return ips;
    });
    await under.pass(timeoutMs / 4);
    t.equal(done, false);
    t.equal(truthOf(under, created.eniId)?.ipv4.length, 3);
    under.release(id);
    t.equal((await call).length, 1);
    t.equal(truthOf(under, created.eniId)?.ipv4.length, 4);
  });

  t.test(`${name}: a signal ends the wait and not the call`, async (t) => {
    const under = await newCloud(t, {});
    const created = await under.cloud.createEni(wanted, never);
    under.plant({ api: 'AssignPrivateIpAddresses', times: 1, params: {}, effect: 'delay', ms: timeoutMs / 4 });
    const controller = new AbortController();
    const call = failure(under.cloud.assignIpv4(created.eniId, 1, 'token-2', controller.signal));
    await under.pass(timeoutMs / 10);
    controller.abort();
    t.match(await call, { code: 'cancelled' });
    await under.pass(timeoutMs / 4);
    t.equal(truthOf(under, created.eniId)?.ipv4.length, 4);
    t.match(await failure(under.cloud.deleteEni('eni-1', AbortSignal.abort())), { code: 'cancelled' });
  });

  t.test(`${name}: an attach that fails silently goes back to Available`, async (t) => {
    const under = await newCloud(t, {});
    const created = await under.cloud.createEni(wanted, never);
    under.plant({
      api: 'AttachNetworkInterface',
      times: 1,
      params: { NetworkInterfaceId: created.eniId },
      effect: 'transition',
      lastsMs: 5,
      fails: true,
    });
    await under.cloud.attachEni(created.eniId, INSTANCE, never);
    t.equal((await until(under, created.eniId, 'Available'))?.instanceId, null);
    t.match(under.lastCall('AttachNetworkInterface')?.params, {
      NetworkInterfaceId: created.eniId,
      InstanceId: INSTANCE,
    });
  });
}
