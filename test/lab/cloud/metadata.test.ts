import t, { type Test } from 'tap';
import { type CloudOptions, runCloud } from '../../../src/lab/cloud/run-cloud.ts';
import { defaultTopology } from '../../../src/vpc/topology.ts';
import { ecsCalls, eventually } from './ecs-calls.ts';

const NODE_1 = 'i-lab-node-1';
const TTL = 'x-aliyun-ecs-metadata-token-ttl-seconds';
const TOKEN = 'x-aliyun-ecs-metadata-token';

async function lab(t: Test, options: CloudOptions = {}) {
  const cloud = await runCloud({
    listen: '127.0.0.1:0',
    profile: 'fast',
    metadata: [{ instanceId: NODE_1, listen: '127.0.0.1:0' }],
    ...options,
  });
  t.teardown(() => cloud.close());
  const base = cloud.doors.list()[0]?.url ?? '';
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${base}/latest/meta-data/${path}`, { headers });
    return { status: response.status, text: await response.text() };
  };
  const put = async (headers: Record<string, string>) => {
    const response = await fetch(`${base}/latest/api/token`, { method: 'PUT', headers });
    return { status: response.status, text: await response.text() };
  };
  const post = async (path: string, body: object) =>
    await fetch(`${cloud.adminUrl}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { cloud, base, get, put, post, calls: ecsCalls(cloud.url) };
}

function topology(more: Partial<ReturnType<typeof defaultTopology>['instances'][number]>) {
  const base = defaultTopology();
  return { ...base, instances: base.instances.map((one) => ({ ...one, ...more })) };
}

t.test('metadata: leaves are plain text, directories list their entries, the unknown is 404', async (t) => {
  const { get, base } = await lab(t);
  t.same(await get('instance-id'), { status: 200, text: NODE_1 });
  t.same(await get('instance/instance-type'), { status: 200, text: 'ecs.g7.xlarge' });
  t.same(await get('region-id/'), { status: 200, text: 'cn-lab' });
  t.same(await get('mac'), { status: 200, text: '00:16:3e:00:00:01' });
  t.same(await get('vswitch-cidr-block'), { status: 200, text: '192.168.0.0/24' });
  t.same(await get('network/interfaces/macs'), { status: 200, text: '00:16:3e:00:00:01/' });
  t.match((await get('')).text.split('\n'), ['dns-conf/', 'hostname', 'image-id', 'instance/']);
  for (const path of [
    'nothing',
    'network/interfaces/macs/00:16:3e:ff:ff:ff/gateway',
    'instance-id/deeper',
    'ram/',
    'eipv4',
  ]) {
    t.equal((await get(path)).status, 404, path);
  }
  t.equal((await fetch(`${base}/latest/user-data`)).status, 404);
  const identity = await (await fetch(`${base}/latest/dynamic/instance-identity/document`)).json();
  t.match(identity, { 'instance-id': NODE_1, 'region-id': 'cn-lab' });
});

t.test('metadata: an attached ENI appears with the formats of the real one, and goes after the detach', async (t) => {
  const { get, calls } = await lab(t);
  const { body } = await calls.create({ secondaryPrivateIpAddressCount: 1, ipv6AddressCount: 2 });
  const [eniId, mac] = [body?.networkInterfaceId ?? '', body?.macAddress ?? ''];
  const listed = async () => (await get('network/interfaces/macs/')).text.split('\n').includes(`${mac}/`);
  t.notOk(await listed());
  await calls.attach(eniId, NODE_1);
  await eventually(listed);
  const leaf = async (name: string) => (await get(`network/interfaces/macs/${mac}/${name}`)).text;
  const ips = body?.privateIpSets?.privateIpSet?.map((one) => one.privateIpAddress);
  const v6 = body?.ipv6Sets?.ipv6Set?.map((one) => one.ipv6Address ?? '') ?? [];
  t.equal(await leaf('network-interface-id'), eniId);
  t.equal(await leaf('primary-ip-address'), body?.privateIpAddress);
  t.equal(await leaf('private-ipv4s'), JSON.stringify(ips));
  t.equal(await leaf('ipv6s'), `[${v6.join(',')}]`, 'brackets, no quotes');
  t.equal(await leaf('gateway'), '192.168.0.253');
  t.equal(await leaf('netmask'), '255.255.255.0');
  t.equal(await leaf('vswitch-id'), 'vsw-lab-1');
  t.equal(await leaf('vswitch-ipv6-cidr-block'), '2001:db8:0:100::/64');
  t.equal(await leaf('vpc-ipv6-cidr-blocks'), '[2001:db8:0:100::/56]');
  t.equal(await leaf('ipv6-gateway'), '2001:db8:0:100:ffff:ffff:ffff:fff7');
  await calls.unassignV6(eniId, v6);
  await eventually(async () => (await get(`network/interfaces/macs/${mac}/ipv6s`)).status === 404);
  await calls.detach(eniId, NODE_1);
  await eventually(async () => !(await listed()));
});

t.test('token: optional at first, and a bad one is refused even so', async (t) => {
  const { get, put, post } = await lab(t);
  t.equal((await put({})).status, 400);
  t.equal((await put({ [TTL]: '0' })).status, 400);
  t.equal((await put({ [TTL]: '21601' })).status, 400);
  t.equal((await put({ [TTL]: '60', 'x-forwarded-for': '10.0.0.1' })).status, 403);
  const { status, text: token } = await put({ [TTL]: '21600' });
  t.equal(status, 200);
  t.equal((await get('mac', { [TOKEN]: token })).status, 200);
  t.equal((await get('mac', { [TOKEN]: 'nonsense' })).status, 401);
  await post('change', { change: 'forgetMetadataTokens', instanceId: NODE_1 });
  t.equal((await get('mac', { [TOKEN]: token })).status, 401);
});

t.test('token: required means 403 without one; it ends when its time is over', async (t) => {
  const { get, put, cloud } = await lab(t, { topology: topology({ httpTokens: 'required' }) });
  t.equal((await get('mac')).status, 403);
  const { text: token } = await put({ [TTL]: '60' });
  t.equal((await get('mac', { [TOKEN]: token })).status, 200);
  cloud.live.nowMs = () => Date.now() + 61_000;
  t.equal((await get('mac', { [TOKEN]: token })).status, 401);
});

t.test('token: one instance cannot use the token of another', async (t) => {
  const { cloud, put } = await lab(t);
  const { text: token } = await put({ [TTL]: '60' });
  const other = `${cloud.url}/metadata/i-lab-node-2/latest/meta-data/instance-id`;
  t.equal(await (await fetch(other)).text(), 'i-lab-node-2', 'any instance is served by its path');
  t.equal((await fetch(other, { headers: { [TOKEN]: token } })).status, 401);
});

t.test(
  'faults: 429, a page of HTML, an empty answer and a closed connection, and the reads are in a ledger',
  async (t) => {
    const { get, post, cloud } = await lab(t);
    const path = '/latest/meta-data/mac';
    const plant = (more: object) => post('faults', { api: 'Metadata', params: { Path: path }, ...more });
    await plant({ effect: 'fail', code: 'TooManyRequests', status: 429 });
    t.equal((await get('mac')).status, 429);
    await plant({ effect: 'reply', body: '<html>', contentType: 'text/html' });
    t.same(await get('mac'), { status: 200, text: '<html>' });
    await plant({ effect: 'reply', body: '' });
    t.same(await get('mac'), { status: 200, text: '' });
    await plant({ effect: 'drop' });
    await t.rejects(get('mac'));
    t.equal((await get('mac')).text, '00:16:3e:00:00:01');
    const ledger = (await (await fetch(`${cloud.adminUrl}/ledger?of=metadata`)).json()) as {
      entries: { status: number }[];
    };
    t.same(
      ledger.entries.map((entry) => entry.status),
      [429, 200, 200, 200, 200],
    );
    t.equal(cloud.live.gateway.ledger.lastSeq, 0, 'they are not among the calls');
  },
);

t.test('RAM role: the credentials that the metadata service gives are good for calls, and end', async (t) => {
  const { get, cloud } = await lab(t, { topology: topology({ ramRole: 'node-role' }) });
  t.same(await get('ram/security-credentials/'), { status: 200, text: 'node-role' });
  const given = JSON.parse((await get('ram/security-credentials/node-role')).text);
  t.match(given, { Code: 'Success', AccessKeyId: /^STS\./, Expiration: /Z$/ });
  const key = {
    accessKeyId: given.AccessKeyId,
    accessKeySecret: given.AccessKeySecret,
    securityToken: given.SecurityToken,
  };
  await t.resolves(ecsCalls(cloud.url, key).describe());
});

t.test('RAM role: short-lived credentials are renewed before they end, and ended ones are refused', async (t) => {
  const { get, cloud } = await lab(t, { topology: topology({ ramRole: 'r' }), roleLifeMs: 400 });
  const read = async () => JSON.parse((await get('ram/security-credentials/r')).text);
  const first = await read();
  await eventually(async () => (await read()).AccessKeyId !== first.AccessKeyId);
  await new Promise((resolve) => setTimeout(resolve, 400));
  const key = {
    accessKeyId: first.AccessKeyId,
    accessKeySecret: first.AccessKeySecret,
    securityToken: first.SecurityToken,
  };
  await t.rejects(ecsCalls(cloud.url, key).describe(), { code: 'InvalidSecurityToken.Expired' });
});
