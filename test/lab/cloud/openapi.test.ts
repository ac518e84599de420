import t, { type Test } from 'tap';
import { type CloudOptions, runCloud } from '../../../src/lab/cloud/run-cloud.ts';
import { acs3Signature, acs3StringToSign, sha256Hex } from '../../../src/lab/cloud/signature.ts';
import { ecsCalls, eventually } from './ecs-calls.ts';
import type { SdkOptions } from './sdk-client.ts';

const NODE_1 = 'i-lab-node-1';

async function lab(t: Test, options: CloudOptions = {}, sdk: SdkOptions = {}) {
  const cloud = await runCloud({ listen: '127.0.0.1:0', profile: 'fast', ...options });
  t.teardown(() => cloud.close());
  const now = () => cloud.live.nowMs();
  return {
    cloud,
    ...ecsCalls(cloud.url, sdk),
    truth: () => cloud.model.truth(now()),
    status: (eniId: string) => cloud.model.truth(now()).enis.find((eni) => eni.eniId === eniId)?.status ?? 'gone',
    fault: (body: object) => post(`${cloud.adminUrl}/faults`, body),
  };
}

async function post(url: string, body: object): Promise<Response> {
  return await fetch(url, { method: 'POST', body: JSON.stringify(body) });
}

const fullCreate = {
  secondaryPrivateIpAddressCount: 2,
  ipv6AddressCount: 1,
  networkInterfaceName: "it's (a) *name*!",
  description: 'a b é ~+%',
  deleteOnRelease: true,
  tag: [
    { key: 'creator', value: 'enactor' },
    { key: 'b', value: 'x&y=z' },
  ],
};

t.test('signature: the SDK is accepted in both forms, by POST, GET and with a form body', async (t) => {
  for (const signatureAlgorithm of ['ACS3-HMAC-SHA256', 'v2']) {
    const { create } = await lab(t, {}, { signatureAlgorithm });
    for (const how of [{}, { method: 'GET' as const }, { form: true }]) {
      const { body } = await create(fullCreate, how);
      t.equal(
        body?.networkInterfaceName,
        fullCreate.networkInterfaceName,
        `${signatureAlgorithm} ${JSON.stringify(how)}`,
      );
      t.equal(body?.description, fullCreate.description);
      t.same(
        body?.tags?.tag?.map((tag) => [tag.tagKey, tag.tagValue]),
        [
          ['creator', 'enactor'],
          ['b', 'x&y=z'],
        ],
      );
    }
  }
});

t.test('signature: a wrong secret, an unknown key and a wrong token are refused, and nothing is done', async (t) => {
  const { cloud, truth } = await lab(t, {
    keys: [
      { accessKeyId: 'LTAIgood', accessKeySecret: 's', securityToken: null, expiresMs: null },
      { accessKeyId: 'STS.good', accessKeySecret: 's', securityToken: 'token', expiresMs: null },
      { accessKeyId: 'STS.old', accessKeySecret: 's', securityToken: 'token', expiresMs: 1 },
    ],
  });
  const before = truth().enis.length;
  const refused: [SdkOptions, string, number][] = [
    [{ accessKeyId: 'LTAIgood', accessKeySecret: 'wrong' }, 'SignatureDoesNotMatch', 400],
    [{ accessKeyId: 'LTAIgood', accessKeySecret: 'wrong', signatureAlgorithm: 'v2' }, 'SignatureDoesNotMatch', 403],
    [{ accessKeyId: 'LTAInone', accessKeySecret: 's' }, 'InvalidAccessKeyId.NotFound', 404],
    [{ accessKeyId: 'STS.good', accessKeySecret: 's' }, 'MissingSecurityToken', 400],
    [{ accessKeyId: 'STS.good', accessKeySecret: 's', securityToken: 'other' }, 'InvalidSecurityToken.Malformed', 400],
    [{ accessKeyId: 'STS.old', accessKeySecret: 's', securityToken: 'token' }, 'InvalidSecurityToken.Expired', 400],
  ];
  for (const [options, code, statusCode] of refused) {
    await t.rejects(ecsCalls(cloud.url, options).create(), { code, statusCode, name: 'ClientError' }, code);
  }
  t.equal(truth().enis.length, before);
  const good = { accessKeyId: 'STS.good', accessKeySecret: 's', securityToken: 'token' };
  await t.resolves(ecsCalls(cloud.url, good).create());
  await t.resolves(ecsCalls(cloud.url, { ...good, signatureAlgorithm: 'v2' }).create());
  t.same(
    cloud.live.gateway.ledger.read(0, null).map((entry) => entry.outcome),
    [...refused.map(([, code]) => code), 'ok', 'ok'],
    'the ledger has the refused ones too',
  );
});

t.test('signature: a replayed nonce, an old clock, a changed body and an unsigned header are refused', async (t) => {
  const { cloud } = await lab(t);
  const call = async (change: Record<string, string> = {}, signed = SIGNED, body = '') => {
    const headers: Record<string, string> = {
      host: new URL(cloud.url).host,
      'x-acs-action': 'DescribeInstanceTypes',
      'x-acs-version': '2014-05-26',
      'x-acs-date': `${new Date().toISOString().slice(0, 19)}Z`,
      'x-acs-signature-nonce': `nonce-${Math.random()}`,
      'x-acs-content-sha256': sha256Hex(''),
      ...change,
    };
    const stringToSign = acs3StringToSign({
      method: 'POST',
      path: '/',
      query: [['InstanceTypes.1', 'lab.small']],
      headers: signed.map((name) => [name, headers[name] ?? '']),
      bodyHash: headers['x-acs-content-sha256'] ?? '',
    });
    const signature = acs3Signature('lab-access-key-secret', stringToSign);
    headers.authorization = `ACS3-HMAC-SHA256 Credential=LTAIlabaccesskeyid,SignedHeaders=${signed.join(';')},Signature=${signature}`;
    const response = await fetch(`${cloud.url}/?InstanceTypes.1=lab.small`, { method: 'POST', headers, body });
    const answer = (await response.json()) as { Code?: string };
    return `${response.status} ${answer.Code ?? 'ok'}`;
  };
  t.equal(await call({ 'x-acs-signature-nonce': 'once' }), '200 ok');
  t.equal(await call({ 'x-acs-signature-nonce': 'once' }), '400 SignatureNonceUsed');
  const minutesOff = (minutes: number) => `${new Date(Date.now() + minutes * 60_000).toISOString().slice(0, 19)}Z`;
  t.equal(await call({ 'x-acs-date': minutesOff(-14) }), '200 ok');
  t.equal(await call({ 'x-acs-date': minutesOff(-16) }), '400 InvalidTimeStamp.Expired');
  t.equal(await call({ 'x-acs-date': minutesOff(16) }), '400 InvalidTimeStamp.Expired');
  t.equal(await call({ 'x-acs-date': 'yesterday' }), '400 InvalidTimeStamp.Format');
  t.equal(await call({}, SIGNED, 'RegionId=x'), '400 IncompleteSignature');
  t.equal(
    await call(
      {},
      SIGNED.filter((name) => name !== 'x-acs-action'),
    ),
    '400 IncompleteSignature',
  );
  const unsigned = await fetch(`${cloud.url}/?Action=DescribeInstanceTypes&Version=2014-05-26`);
  t.equal(unsigned.status, 400);
  t.match(await unsigned.json(), { Code: 'MissingParameter' });
});

const SIGNED = ['host', 'x-acs-action', 'x-acs-content-sha256', 'x-acs-date', 'x-acs-signature-nonce', 'x-acs-version'];

t.test('ENI: create, attach, detach, delete through the SDK, each state seen on its way', async (t) => {
  const { cloud, create, attach, detach, delete: remove, describe, attribute, status, fault } = await lab(t);
  const { body, headers } = await create(fullCreate);
  const eniId = body?.networkInterfaceId ?? '';
  t.match(body, {
    status: 'Available',
    type: 'Secondary',
    vSwitchId: 'vsw-lab-1',
    vpcId: 'vpc-lab',
    zoneId: 'cn-lab-a',
    macAddress: /^00:16:3e:/,
    securityGroupIds: { securityGroupId: ['sg-lab'] },
  });
  t.equal(headers?.['x-acs-request-id'], body?.requestId);
  const ips = body?.privateIpSets?.privateIpSet ?? [];
  t.same(
    ips.map((one) => one.primary),
    [true, false, false],
  );
  t.equal(ips[0]?.privateIpAddress, body?.privateIpAddress);
  t.equal(body?.ipv6Sets?.ipv6Set?.length, 1);

  await fault({ api: 'AttachNetworkInterface', effect: 'transition', lastsMs: 3_600_000 });
  await attach(eniId, NODE_1);
  t.equal((await attribute(eniId)).body?.status, 'Attaching');
  await post(`${cloud.adminUrl}/change`, { change: 'setEniStatus', eniId, status: 'Attaching', forMs: 0 });
  await eventually(() => status(eniId) === 'InUse');
  const [found] =
    (await describe({ instanceId: NODE_1, type: 'Secondary' })).body?.networkInterfaceSets?.networkInterfaceSet ?? [];
  t.match(found, {
    networkInterfaceId: eniId,
    status: 'InUse',
    instanceId: NODE_1,
    attachment: { instanceId: NODE_1, deviceIndex: 1 },
    deleteOnRelease: true,
    creationTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
    tags: { tag: [{ tagKey: 'creator', tagValue: 'enactor' }, { tagKey: 'b' }] },
  });
  await t.rejects(remove(eniId), { code: 'InvalidOperation.InvalidEniState', statusCode: 400 });
  await detach(eniId, NODE_1);
  await eventually(() => status(eniId) === 'Available');
  await remove(eniId);
  await eventually(() => status(eniId) === 'gone');
  t.same((await describe({ networkInterfaceId: [eniId] })).body?.networkInterfaceSets?.networkInterfaceSet, []);
  await t.rejects(attribute(eniId), { code: 'InvalidEniId.NotFound', statusCode: 404 });
});

t.test('addresses: assign and unassign of both families through the SDK', async (t) => {
  const { create, assign, unassign, assignV6, unassignV6, attribute } = await lab(t);
  const eniId = (await create()).body?.networkInterfaceId ?? '';
  const assigned = (await assign(eniId, { secondaryPrivateIpAddressCount: 3 })).body?.assignedPrivateIpAddressesSet;
  const ips = assigned?.privateIpSet?.privateIpAddress ?? [];
  t.equal(assigned?.networkInterfaceId, eniId);
  t.equal(ips.length, 3);
  const v6 = (await assignV6(eniId, { ipv6AddressCount: 2 })).body?.ipv6Sets?.ipv6Address ?? [];
  t.equal(v6.length, 2);
  await assign(eniId, { privateIpAddress: ['192.168.0.200'] });
  await unassign(eniId, ips.slice(0, 2));
  await unassignV6(eniId, v6.slice(0, 1));
  const { body } = await attribute(eniId);
  t.same(body?.privateIpSets?.privateIpSet?.map((one) => one.privateIpAddress).slice(1), [ips[2], '192.168.0.200']);
  t.same(
    body?.ipv6Sets?.ipv6Set?.map((one) => one.ipv6Address),
    v6.slice(1),
  );
  await t.rejects(unassign(eniId, [ips[0] ?? '']), { code: 'InvalidIp.IpUnassigned', statusCode: 403 });
  await t.rejects(assign(eniId, { secondaryPrivateIpAddressCount: 1, privateIpAddress: ['192.168.0.9'] }), {
    code: 'InvalidParameter.Conflict',
  });
  await t.rejects(assign(eniId, {}), { code: 'MissingParameter', statusCode: 403 });
});

t.test('addresses: concurrent assigns on one ENI conflict', async (t) => {
  const { create, assign } = await lab(t, { settings: { speed: 0.02 } });
  const eniId = (await create()).body?.networkInterfaceId ?? '';
  const both = await Promise.allSettled(
    [1, 1].map((count) => assign(eniId, { secondaryPrivateIpAddressCount: count })),
  );
  t.same(both.map((one) => one.status).sort(), ['fulfilled', 'rejected']);
  const refused = both.find((one) => one.status === 'rejected');
  t.match(refused?.reason, { code: 'Operation.Conflict', statusCode: 403 });
});

t.test('modify, tag, security groups, instances, types and vSwitches through the SDK', async (t) => {
  const { create, modify, tag, attribute, groups, instances, instanceTypes, vSwitches, vSwitch } = await lab(t);
  const eniId = (await create()).body?.networkInterfaceId ?? '';
  await modify(eniId, { networkInterfaceName: 'new', description: 'text', securityGroupId: ['sg-lab'] });
  await tag([eniId], [{ key: 'k', value: 'v' }]);
  t.match((await attribute(eniId)).body, {
    networkInterfaceName: 'new',
    description: 'text',
    tags: { tag: [{ tagKey: 'k', tagValue: 'v' }] },
  });
  t.match((await groups({ securityGroupIds: '["sg-lab"]' })).body?.securityGroups?.securityGroup?.[0], {
    securityGroupId: 'sg-lab',
    securityGroupType: 'normal',
    vpcId: 'vpc-lab',
  });
  const found = (await instances({ instanceIds: JSON.stringify([NODE_1]) })).body?.instances?.instance ?? [];
  t.equal(found.length, 1);
  t.match(found[0], {
    instanceId: NODE_1,
    instanceType: 'ecs.g7.xlarge',
    status: 'Running',
    zoneId: 'cn-lab-a',
    vpcAttributes: { vpcId: 'vpc-lab', vSwitchId: 'vsw-lab-1', privateIpAddress: { ipAddress: ['192.168.0.1'] } },
    networkInterfaces: { networkInterface: [{ type: 'Primary', primaryIpAddress: '192.168.0.1' }] },
  });
  await t.rejects(instances({ instanceIds: 'i-1' }), { code: 'InvalidInstanceIds.Malformed' });
  t.match((await instanceTypes(['ecs.g7.xlarge', 'ecs.none'])).body?.instanceTypes?.instanceType, [
    {
      instanceTypeId: 'ecs.g7.xlarge',
      eniQuantity: 4,
      eniPrivateIpAddressQuantity: 15,
      eniIpv6AddressQuantity: 15,
      eniTotalQuantity: 20,
      eniTrunkSupported: true,
    },
  ]);
  const both = (await vSwitches({ vpcId: 'vpc-lab' })).body;
  t.match(both, { totalCount: 2, pageNumber: 1, pageSize: 10 });
  t.match(both?.vSwitches?.vSwitch?.[0], {
    vSwitchId: 'vsw-lab-1',
    cidrBlock: '192.168.0.0/24',
    ipv6CidrBlock: '2001:db8:0:100::/64',
    availableIpAddressCount: 249,
    status: 'Available',
  });
  t.match((await vSwitch('vsw-lab-2')).body, { vSwitchId: 'vsw-lab-2', availableIpAddressCount: 252 });
  await t.rejects(vSwitch('vsw-none'), { code: 'InvalidVSwitchId.NotFound', statusCode: 404 });
});

t.test('paging: NextToken leads through all, once each', async (t) => {
  const { create, describe } = await lab(t);
  await Promise.all(Array.from({ length: 23 }, () => create()));
  const seen: (string | undefined)[] = [];
  let nextToken: string | undefined;
  let pages = 0;
  do {
    const { body } = await describe({ maxResults: 10, type: 'Secondary', ...(nextToken ? { nextToken } : {}) });
    seen.push(...(body?.networkInterfaceSets?.networkInterfaceSet?.map((eni) => eni.networkInterfaceId) ?? []));
    nextToken = body?.nextToken;
    pages += 1;
  } while (nextToken);
  t.equal(pages, 3);
  t.equal(new Set(seen).size, 23);
  t.equal(seen.length, 23);
  const numbered = (await describe({ pageNumber: 3, pageSize: 10 })).body;
  t.match(numbered, { totalCount: 25, pageNumber: 3, pageSize: 10 });
  t.equal(numbered?.networkInterfaceSets?.networkInterfaceSet?.length, 5);
});

t.test('ClientToken: a lost reply is found again with the token, and there is one ENI', async (t) => {
  const { create, truth, fault } = await lab(t);
  for (const how of ['close', 'cut']) {
    await fault({ api: 'CreateNetworkInterface', effect: 'drop', how });
    await t.rejects(create({ clientToken: how }), how);
    const [made] = truth().enis.slice(-1);
    const found = await create({ clientToken: how });
    t.equal(found.body?.networkInterfaceId, made?.eniId);
  }
  t.equal(truth().enis.filter((eni) => eni.type === 'Secondary').length, 2);
  await t.rejects(create({ clientToken: 'close', description: 'other' }), { code: 'IdempotentParameterMismatch' });
});

t.test('faults: a chosen code as the SDK sees it, a page of HTML, silence until a time-out', async (t) => {
  const { cloud, create, truth, fault } = await lab(t);
  await fault({ api: 'CreateNetworkInterface', effect: 'fail', code: 'Throttling.User' });
  await t.rejects(create(), { name: 'ThrottlingError', code: 'Throttling.User', statusCode: 400 });
  await fault({ api: 'CreateNetworkInterface', effect: 'fail', code: 'ServiceUnavailable' });
  await t.rejects(create(), { name: 'ServerError', statusCode: 503 });
  await fault({ api: '*', effect: 'reply', status: 502, contentType: 'text/html', body: '<html>', carriedOut: false });
  await t.rejects(create(), { name: 'SyntaxError' });
  t.equal(truth().enis.length, 2, 'none of them was carried out');
  await fault({ api: '*', effect: 'drop', how: 'hang' });
  await t.rejects(ecsCalls(cloud.url, { readTimeoutMs: 300 }).create(), { name: 'RequestTimeoutError' });
  t.equal(truth().enis.length, 3);
});

t.test('faults: a held call waits for its release', async (t) => {
  const { cloud, create, truth, fault } = await lab(t);
  const { ids } = (await (await fault({ api: 'CreateNetworkInterface', effect: 'hold' })).json()) as { ids: string[] };
  const waiting = create();
  await eventually(() => Object.keys(cloud.live.holding()).length === 1);
  t.equal(truth().enis.length, 2);
  await fetch(`${cloud.adminUrl}/faults/${ids[0]}`, { method: 'DELETE' });
  t.ok((await waiting).body?.networkInterfaceId);
});

t.test(
  'refusals: unknown actions, missing and malformed parameters, regions and prefixes by their codes',
  async (t) => {
    const { client, create, assign, describe } = await lab(t);
    class Free {
      readonly #fields: Record<string, unknown>;
      constructor(fields: Record<string, unknown> = {}) {
        this.#fields = fields;
      }
      toMap() {
        return this.#fields;
      }
    }
    const call = (action: string, fields: Record<string, string>, version?: string) =>
      client.call(action, Free, Free, fields, version === undefined ? {} : { version });
    await t.rejects(call('MakeCoffee', {}), { code: 'InvalidAction.NotFound', statusCode: 404 });
    await t.rejects(call('DescribeVSwitches', {}), { code: 'InvalidAction.NotFound' }, 'it is an API of the VPC');
    await t.rejects(call('DescribeInstances', {}, '1999-01-01'), { code: 'InvalidVersion.NotFound' });
    await t.rejects(call('AttachNetworkInterface', { RegionId: 'cn-lab', InstanceId: 'i' }), {
      code: 'MissingParameter',
      statusCode: 400,
      message: /NetworkInterfaceId/,
    });
    await t.rejects(call('TagResources', { RegionId: 'cn-lab' }), {
      code: 'MissingParameter.ResourceType',
      statusCode: 404,
    });
    await t.rejects(call('DescribeInstances', { RegionId: 'cn-mars' }), { code: 'Forbidden.RegionId' });
    await t.rejects(create({ secondaryPrivateIpAddressCount: 0 }), { code: 'InvalidParameter' });
    await t.rejects(create({ securityGroupIds: [] }), { code: 'MissingParameter' });
    await t.rejects(create({ vSwitchId: 'vsw-none' }), { code: 'InvalidVSwitchId.NotFound', statusCode: 404 });
    await t.rejects(create({ ipv4PrefixCount: 1 }), {
      code: 'InvalidOperation.RegionNotSupportIpPrefix',
      statusCode: 500,
    });
    await t.rejects(create({ tag: [{ key: 'a' }, { key: 'a' }] }), { code: 'Duplicate.TagKey' });
    await t.rejects(assign('eni-none', { secondaryPrivateIpAddressCount: 1 }), { code: 'InvalidEniId.NotFound' });
    await t.rejects(describe({ nextToken: 'junk' }), { code: 'InvalidParameter' });
  },
);

t.test('secrets: neither keys nor signatures reach the ledger', async (t) => {
  for (const signatureAlgorithm of ['ACS3-HMAC-SHA256', 'v2']) {
    const { cloud, create } = await lab(t, {}, { signatureAlgorithm });
    await create();
    await ecsCalls(cloud.url, { accessKeySecret: 'wrong', signatureAlgorithm })
      .create()
      .catch(() => {});
    const text = await (await fetch(`${cloud.adminUrl}/ledger`)).text();
    t.notMatch(text, /LTAI|lab-access-key-secret|"Signature\w*":/);
    t.match(text, /"SignatureDoesNotMatch"/, 'but what happened does');
  }
});

t.test('time: a state that is to last for months is no busy loop, and the cloud closes at once', async (t) => {
  const { create, attach, status, fault, cloud } = await lab(t);
  const eniId = (await create()).body?.networkInterfaceId ?? '';
  await fault({ api: 'AttachNetworkInterface', effect: 'transition', lastsMs: 10_000_000_000 });
  await attach(eniId, NODE_1);
  let advances = 0;
  const { model } = cloud;
  const advance = model.advance.bind(model);
  model.advance = (nowMs) => {
    advances += 1;
    advance(nowMs);
  };
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.ok(advances < 5, `${advances} advances`);
  t.equal(status(eniId), 'Attaching');
});
