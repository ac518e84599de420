import ecs from '@alicloud/ecs20140526';
import core from '@alicloud/openapi-core';
import vpc from '@alicloud/vpc20160428';
import t from 'tap';
import { runCloud } from '../../../src/lab/cloud/run-cloud.ts';

t.test('the whole SDK clients of ECS and VPC work against the cloud of the lab', async (t) => {
  const cloud = await runCloud({ listen: '127.0.0.1:0', profile: 'fast' });
  t.teardown(() => cloud.close());
  const config = () =>
    new core.$OpenApiUtil.Config({
      accessKeyId: 'LTAIlabaccesskeyid',
      accessKeySecret: 'lab-access-key-secret',
      endpoint: new URL(cloud.url).host,
      protocol: 'http',
      regionId: 'cn-lab',
    });
  const client = new ecs.default(config());
  const created = await client.createNetworkInterface(
    new ecs.CreateNetworkInterfaceRequest({ regionId: 'cn-lab', vSwitchId: 'vsw-lab-1', securityGroupId: 'sg-lab' }),
  );
  const eniId = created.body?.networkInterfaceId ?? '';
  const assigned = await client.assignIpv6Addresses(
    new ecs.AssignIpv6AddressesRequest({ regionId: 'cn-lab', networkInterfaceId: eniId, ipv6AddressCount: 2 }),
  );
  t.equal(assigned.body?.ipv6Sets?.ipv6Address?.length, 2);
  const listed = await client.describeNetworkInterfaces(
    new ecs.DescribeNetworkInterfacesRequest({ regionId: 'cn-lab', networkInterfaceId: [eniId] }),
  );
  t.equal(listed.body?.networkInterfaceSets?.networkInterfaceSet?.[0]?.ipv6Sets?.ipv6Set?.length, 2);
  const switches = await new vpc.default(config()).describeVSwitches(
    new vpc.DescribeVSwitchesRequest({ regionId: 'cn-lab', zoneId: 'cn-lab-a' }),
  );
  t.equal(switches.body?.vSwitches?.vSwitch?.length, 2);
  const refusal = client.deleteNetworkInterface(
    new ecs.DeleteNetworkInterfaceRequest({ regionId: 'cn-lab', networkInterfaceId: 'eni-none' }),
  );
  await t.rejects(refusal, { code: 'InvalidEniId.NotFound', statusCode: 404, name: 'ClientError' });
});
