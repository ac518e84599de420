import { test } from 'tap';
import { POD_CIDR, podCidrCloud, podCidrMetadata } from '../../../src/adapters/pod-cidr/pod-cidr-cloud.ts';
import { POD_ADDRESSES_MAX, podCidrSource } from '../../../src/adapters/pod-cidr/pod-cidr-facts.ts';
import type { Node } from '../../../src/ports/kubernetes.ts';

const { signal } = new AbortController();
const node: Node = {
  name: 'node-1',
  uid: 'u',
  labels: {},
  annotations: {},
  podCidrs: ['10.244.3.0/29', 'fd00:10:244:3::/64'],
  internalIps: ['2001:db8::1', '192.168.0.1'],
  providerId: 'cn-lab.i-1',
  unschedulable: false,
};

/** Answers with one after the other, the last for ever. */
function sourceOf(nodes: readonly (Node | null)[], dual = false) {
  let asked = 0;
  const getNode = async () => nodes[Math.min(asked++, nodes.length - 1)] ?? null;
  return { source: podCidrSource({ getNode }, 'node-1', dual), asked: () => asked };
}

test('pod CIDR: what a Node object lacks is named, asked for again, and asked no more once it is there', async (t) => {
  const { source, asked } = sourceOf([
    null,
    { ...node, internalIps: [] },
    { ...node, podCidrs: [] },
    { ...node, podCidrs: ['10.0.0.0/31'] },
    node,
  ]);
  for (const why of [/does not exist yet/, /InternalIP/, /no podCIDR of IPv4/, /10\.0\.0\.0\/31 without room/])
    await t.rejects(source(signal), { code: 'kubernetes', detail: why });
  const facts = await source(signal);
  t.match(facts, { instanceId: 'cn-lab.i-1', nodeIp: '192.168.0.1', ipv6Cidr: null });
  t.strictSame(facts.ipv6, []);
  t.strictSame(facts.ipv4, ['10.244.3.2', '10.244.3.3', '10.244.3.4', '10.244.3.5', '10.244.3.6']);
  await source(signal);
  t.equal(asked(), 5);
});

test('pod CIDR: pairs are as many as both prefixes have, and no node has more than it can use', async (t) => {
  const dual = await sourceOf([node], true).source(signal);
  t.strictSame([dual.ipv4.length, dual.ipv6.length, dual.ipv6[0]], [5, 5, 'fd00:10:244:3::2']);
  await t.rejects(sourceOf([{ ...node, podCidrs: ['10.0.0.0/24'] }], true).source(signal), {
    code: 'kubernetes',
    detail: /podCIDR of IPv6/,
  });
  const wide = await sourceOf([{ ...node, podCidrs: ['10.0.0.0/8'] }]).source(signal);
  t.equal(wide.ipv4.length, POD_ADDRESSES_MAX);
});

test('pod CIDR: to the actors it is one ENI that has all its addresses and that nobody changes', async (t) => {
  const { source } = sourceOf([node]);
  const cloud = podCidrCloud(source);
  const [primary, pods, ...others] = await cloud.describeEnis({ instanceId: 'cn-lab.i-1' }, signal);
  t.strictSame(others, []);
  t.match(primary, { type: 'Primary', ipv4: ['192.168.0.1'] });
  t.match(pods, { eniId: POD_CIDR, type: 'Secondary', status: 'InUse', instanceId: 'cn-lab.i-1', tags: {} });
  t.equal(pods?.ipv4.length, 5);
  t.strictSame(await cloud.describeEnis({ tags: { creator: 'enactor' } }, signal), [], 'none is ours to delete');
  t.strictSame((await cloud.describeEnis({ eniIds: [POD_CIDR] }, signal)).length, 1);
  t.match(await cloud.instanceLimits('any', signal), { enis: 2, ipv4PerEni: 5 });
  t.match(await cloud.vSwitches([POD_CIDR], signal), [{ cidr: '10.244.3.0/29', availableAddresses: 0 }]);
  await t.rejects(cloud.assignIpv4(POD_CIDR, 1, 'x', signal), {
    code: 'cloud',
    detail: /changes nothing in the cloud/,
  });
  await t.rejects(cloud.deleteEni(POD_CIDR, signal), { code: 'cloud' });
  const [witness] = await podCidrMetadata(source).enis(signal);
  t.strictSame(witness?.ipv4, pods?.ipv4, 'the second witness says the same');
});
