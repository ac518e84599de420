import { test } from 'tap';
import { metadataService } from '../../../src/adapters/metadata/metadata-service.ts';
import { eniLeaves, fakeMetadata, IDENTITY } from './fake-metadata.ts';

const { signal: never } = new AbortController();
const MACS = 'network/interfaces/macs/';
const quick = { pauseMs: 1, timeoutMs: 2_000 };
const puts = (log: readonly string[]) => log.filter((line) => line.startsWith('PUT')).length;

test('metadata: the identity is read with one token for all paths', async (t) => {
  const fake = await fakeMetadata(t, IDENTITY);
  fake.required = true;
  const metadata = metadataService({ baseUrl: `${fake.baseUrl}/`, ...quick });
  t.same(await metadata.identity(never), {
    instanceId: 'i-bp1',
    instanceType: 'ecs.g7.xlarge',
    regionId: 'cn-hangzhou',
    zoneId: 'cn-hangzhou-i',
    vpcId: 'vpc-1',
    vSwitchId: 'vsw-1',
    primaryMac: '00:16:3e:00:00:01',
    nodeIp: '192.168.0.10',
  });
  await metadata.identity(never);
  t.equal(puts(fake.log), 1);
});

test('metadata: ENIs are read with the formats the service has: JSON for IPv4, bare brackets for IPv6, slashes at the ends', async (t) => {
  const [one, two] = ['00:16:3e:00:00:01', '00:16:3e:00:00:02'];
  const fake = await fakeMetadata(t, {
    [MACS]: `${one}/\n${two}/\n`,
    ...eniLeaves(one),
    ...eniLeaves(two, {
      'network-interface-id': 'eni-b/\n',
      ipv6s: '[2408:4005:0:1::a,2408:4005::b]',
      'ipv6-gateway': '2408:4005:0:1:ffff:ffff:ffff:fff7',
      'vswitch-ipv6-cidr-block': '2408:4005:0:1::/64',
    }),
  });
  const shared = {
    vSwitchId: 'vsw-1',
    vSwitchCidr: '192.168.0.0/24',
    gateway: '192.168.0.253',
    primaryIp: '192.168.0.20',
  };
  const ipv4 = ['192.168.0.20', '192.168.0.21'];
  t.same(await metadataService({ baseUrl: fake.baseUrl, ...quick }).enis(never), [
    { mac: one, eniId: 'eni-01', ...shared, ipv4, ipv6: [], ipv6Gateway: null, vSwitchIpv6Cidr: null },
    {
      mac: two,
      eniId: 'eni-b',
      ...shared,
      ipv4,
      ipv6: ['2408:4005:0:1::a', '2408:4005::b'],
      ipv6Gateway: '2408:4005:0:1:ffff:ffff:ffff:fff7',
      vSwitchIpv6Cidr: '2408:4005:0:1::/64',
    },
  ]);
});

test('metadata: a 401 renews the token once for all who read at that time', async (t) => {
  const fake = await fakeMetadata(t, IDENTITY);
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick });
  await metadata.identity(never);
  fake.expireTokens();
  const all = await Promise.all([1, 2, 3, 4].map(() => metadata.identity(never)));
  t.equal(new Set(all.map(({ instanceId }) => instanceId)).size, 1);
  t.equal(puts(fake.log), 2);
});

test('metadata: a token that is refused anew is an error, not a loop', async (t) => {
  const fake = await fakeMetadata(t, { ...IDENTITY, 'instance-id': 401 });
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick });
  await t.rejects(metadata.identity(never), {
    code: 'metadata',
    detail: 'metadata /latest/meta-data/instance-id: HTTP 401',
  });
  t.equal(puts(fake.log), 4);
});

test('metadata: a token is renewed after half its life', async (t) => {
  let nowMs = 0;
  const fake = await fakeMetadata(t, IDENTITY);
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick, nowMs: () => nowMs });
  await metadata.identity(never);
  nowMs = 10_799_999;
  await metadata.identity(never);
  t.equal(puts(fake.log), 1);
  nowMs = 10_800_000;
  await metadata.identity(never);
  t.equal(puts(fake.log), 2);
});

test('metadata: a service without the token path is read without, until it asks for tokens', async (t) => {
  const fake = await fakeMetadata(t, IDENTITY);
  fake.token = 404;
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick });
  await metadata.identity(never);
  await metadata.identity(never);
  t.equal(puts(fake.log), 1);
  fake.token = null;
  fake.required = true;
  t.equal((await metadata.identity(never)).instanceId, 'i-bp1');
  t.equal(puts(fake.log), 2);
});

test('metadata: what is not as it should be is told with its path', async (t) => {
  const fake = await fakeMetadata(t, IDENTITY);
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick, tries: 2, timeoutMs: 1_000 });
  const cases = [
    ['zone-id', '<!DOCTYPE html><p>log in</p>', 'metadata zone-id: the answer is an HTML page'],
    ['zone-id', '\n', 'metadata zone-id: the answer is empty'],
    ['zone-id', 404, 'metadata zone-id: HTTP 404'],
    ['zone-id', 'two words', 'metadata zone-id: "two words" is no name'],
    ['mac', '00:16:3e', 'metadata mac: "00:16:3e" is no MAC address'],
    ['private-ipv4', '192.168.0', 'metadata private-ipv4: "192.168.0" is no IPv4 address'],
    ['private-ipv4', 'fd00::1', 'metadata private-ipv4: "fd00::1" is no IPv4 address'],
    ['vpc-id', 503, 'metadata vpc-id: HTTP 503'],
    ['vpc-id', 'hang', 'metadata vpc-id: no answer within 1000 ms'],
    ['vpc-id', 'reset', 'metadata vpc-id: '],
    ['vpc-id', 'x'.repeat(2 << 20), 'metadata vpc-id: the answer is over 1048576 bytes long'],
  ] as const;
  for (const [path, reply, detail] of cases) {
    fake.leaves.set(path, reply);
    await t.rejects(
      metadata.identity(never),
      { code: 'metadata', detail: new RegExp(`^${detail.replace('metadata ', 'metadata /latest/meta-data/')}`) },
      detail,
    );
    fake.leaves.set(path, IDENTITY[path]);
  }
  fake.token = '<html>';
  fake.expireTokens();
  await t.rejects(metadata.identity(never), {
    code: 'metadata',
    detail: 'metadata /latest/api/token: the answer is no token',
  });
});

test('metadata: a busy or failing service is asked again, a plain refusal is not', async (t) => {
  const fake = await fakeMetadata(t, { ...IDENTITY, 'instance-id': 429 });
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick });
  await t.rejects(metadata.identity(never), {
    code: 'metadata',
    detail: 'metadata /latest/meta-data/instance-id: HTTP 429',
  });
  const asked = () => fake.log.filter((line) => line.endsWith('/instance-id')).length;
  t.equal(asked(), 4);
  fake.leaves.set('instance-id', 400);
  await t.rejects(metadata.identity(never), {
    code: 'metadata',
    detail: 'metadata /latest/meta-data/instance-id: HTTP 400',
  });
  t.equal(asked(), 5);
});

test('metadata: an ENI that goes while it is read is left out; one whose leaf is missing is an error', async (t) => {
  const [one, two] = ['00:16:3e:00:00:01', '00:16:3e:00:00:02'];
  const fake = await fakeMetadata(t, { [MACS]: `${one}/\n${two}/`, ...eniLeaves(one), ...eniLeaves(two) });
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick });
  fake.leaves.delete(`${MACS}${two}/gateway`);
  await t.rejects(metadata.enis(never), {
    code: 'metadata',
    detail: `metadata /latest/meta-data/${MACS}${two}/gateway: HTTP 404`,
  });
  fake.leaves.set(`${MACS}${two}/gateway`, '192.168.0.253');
  fake.leaves.set(`${MACS}${two}/private-ipv4s`, '["192.168.0.20","here"]');
  await t.rejects(metadata.enis(never), {
    code: 'metadata',
    detail: `metadata /latest/meta-data/${MACS}${two}/private-ipv4s: "here" is no IPv4 address`,
  });
  // The list is read first, then the directory is gone, and so is its line in the list.
  const { get } = fake.leaves;
  let lists = 0;
  fake.leaves.get = (path) => {
    if (path === MACS) {
      lists += 1;
      return lists === 1 ? `${one}/\n${two}/` : `${one}/`;
    }
    return path.includes(two) ? 404 : get.call(fake.leaves, path);
  };
  const enis = await metadata.enis(never);
  t.same(
    enis.map(({ mac }) => mac),
    [one],
  );
  t.equal(lists, 2);
});

test('metadata: a reader that gives up does not end the token request of the others', async (t) => {
  const fake = await fakeMetadata(t, { ...IDENTITY, 'region-id': 'hang' });
  const metadata = metadataService({ baseUrl: fake.baseUrl, ...quick, tries: 1 });
  const leaving = new AbortController();
  const left = metadata.identity(leaving.signal);
  const other = new AbortController();
  const stays = metadata.identity(other.signal);
  leaving.abort();
  await t.rejects(left, { name: 'AbortError' });
  fake.leaves.set('region-id', IDENTITY['region-id']);
  t.equal((await stays).regionId, 'cn-hangzhou');
  t.equal(puts(fake.log), 1);
});
