import { test } from 'tap';
import { metadataService } from '../../../src/adapters/metadata/metadata-service.ts';
import { runCloud } from '../../../src/lab/cloud/run-cloud.ts';
import { defaultTopology } from '../../../src/vpc/topology.ts';

const { signal: never } = new AbortController();

test('metadata: the lab’s cloud is read through its own metadata service, in token mode', async (t) => {
  const plain = defaultTopology();
  const instances = plain.instances.map((instance) => ({ ...instance, httpTokens: 'required' as const }));
  const cloud = await runCloud({ listen: '127.0.0.1:0', profile: 'fast', topology: { ...plain, instances } });
  t.teardown(() => cloud.close());
  const [node] = instances;
  const instanceId = node?.instanceId ?? '';
  const metadata = metadataService({ baseUrl: `${cloud.url}/metadata/${instanceId}` });
  const identity = await metadata.identity(never);
  t.match(identity, {
    instanceId,
    instanceType: node?.instanceType,
    regionId: plain.regionId,
    vSwitchId: node?.vSwitchId,
    vpcId: plain.vpcs[0]?.vpcId,
  });
  const truth = cloud.model.metadata(instanceId, cloud.live.nowMs());
  t.equal(identity.zoneId, truth?.zoneId);
  const enis = await metadata.enis(never);
  t.equal(enis.length, 1);
  t.match(enis[0], { mac: identity.primaryMac, primaryIp: identity.nodeIp });
  t.strictSame([enis[0]?.ipv4, enis[0]?.ipv6], [[identity.nodeIp], []]);
  t.match(enis[0], { gateway: truth?.enis[0]?.gateway, ipv6Gateway: truth?.enis[0]?.ipv6Gateway });
  const stranger = metadataService({ baseUrl: `${cloud.url}/metadata/i-nobody`, pauseMs: 1 });
  await t.rejects(stranger.identity(never), { code: 'metadata', detail: /HTTP 404/ });
});
