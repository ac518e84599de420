import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { ClockSkew } from '../../../src/adapters/ecs/clock-skew.ts';
import { type EcsOptions, ecsCloud } from '../../../src/adapters/ecs/ecs-cloud.ts';
import { EnactorError } from '../../../src/core/errors.ts';
import { LAB_ACCESS_KEY } from '../../../src/lab/cloud/keys.ts';
import { type CloudOptions, type RunningCloud, runCloud } from '../../../src/lab/cloud/run-cloud.ts';
import type { CloudError, CreateEni } from '../../../src/ports/cloud.ts';
import { labCredentials } from '../credentials/lab-credentials.ts';

const signal = () => AbortSignal.timeout(20_000);

function adapter(endpoint: string, options: Partial<EcsOptions> = {}) {
  return ecsCloud({
    region: async () => 'cn-lab',
    ecsEndpoint: endpoint,
    vpcEndpoint: endpoint,
    scheme: 'http',
    credentials: labCredentials(),
    timeoutMs: 5_000,
    rateLimits: {},
    minuteMs: 60,
    ...options,
  });
}

async function lab(t: Test, options: Partial<CloudOptions> = {}): Promise<RunningCloud> {
  const running = await runCloud({ listen: '127.0.0.1:0', profile: 'fast', ...options });
  t.teardown(() => running.close());
  return running;
}

const hostOf = (running: RunningCloud) => new URL(running.url).host;

/** A server that answers every call alike. */
async function answering(t: Test, handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function failure(call: Promise<unknown>): Promise<CloudError> {
  return (await call.then(
    () => ({ code: 'no failure' }),
    (thrown: unknown) => thrown,
  )) as CloudError;
}

async function plant(running: RunningCloud, fault: Record<string, unknown>): Promise<void> {
  const answer = await fetch(`${running.adminUrl}/faults`, { method: 'POST', body: JSON.stringify(fault) });
  if (!answer.ok) throw new Error(await answer.text());
}

const wanted: CreateEni = {
  vSwitchId: 'vsw-lab-2',
  securityGroupIds: ['sg-lab'],
  ipv4Count: 3,
  ipv6Count: 1,
  tags: { creator: 'enactor', instance: 'i-lab-node-1' },
  description: 'made by a test',
  clientToken: 'token-1',
};

t.test('ecs: an ENI is created, attached, given addresses, emptied, detached and deleted', async (t) => {
  const running = await lab(t);
  const cloud = adapter(hostOf(running));
  const until = async (eniId: string, status: string) => {
    for (;;) {
      const [eni] = await cloud.describeEnis({ eniIds: [eniId] }, signal());
      if ((eni?.status ?? 'gone') === status) return eni;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  const created = await cloud.createEni(wanted, signal());
  t.match(created, {
    eniId: /^eni-/,
    mac: /^[0-9a-f:]{17}$/,
    type: 'Secondary',
    vpcId: 'vpc-lab',
    vSwitchId: 'vsw-lab-2',
    zoneId: 'cn-lab-a',
    securityGroupIds: ['sg-lab'],
    tags: wanted.tags,
    instanceId: null,
  });
  t.equal(created.ipv4.length, 3, 'the primary address and two more');
  t.equal(created.ipv6.length, 1);
  t.strictSame(await cloud.createEni(wanted, signal()), created, 'the same token makes nothing twice');
  const truth = running.model.truth(Date.now());
  t.match(
    truth.enis.find((eni) => eni.eniId === created.eniId),
    { deleteOnRelease: true, sourceDestCheck: false },
    'it goes with its instance',
  );

  await cloud.attachEni(created.eniId, 'i-lab-node-1', signal());
  t.match(await until(created.eniId, 'InUse'), { instanceId: 'i-lab-node-1', mac: created.mac });
  t.equal((await cloud.describeEnis({ instanceId: 'i-lab-node-1' }, signal())).length, 2, 'primary and secondary');
  t.strictSame(
    (await cloud.describeEnis({ tags: { creator: 'enactor' } }, signal())).map(({ eniId }) => eniId),
    [created.eniId],
  );

  const added = await cloud.assignIpv4(created.eniId, 2, 'token-2', signal());
  t.equal(added.length, 2);
  t.strictSame((await cloud.assignIpv4(created.eniId, 2, 'token-2', signal())).sort(), [...added].sort());
  await cloud.unassignIpv4(created.eniId, [added[0] ?? ''], signal());
  await cloud.unassignIpv4(created.eniId, added, signal());
  t.strictSame(
    (await until(created.eniId, 'InUse'))?.ipv4,
    created.ipv4,
    'an address gone before did not save the other',
  );
  await cloud.unassignIpv4(created.eniId, added, signal());
  await cloud.unassignIpv4(created.eniId, [], signal());

  await cloud.detachEni(created.eniId, 'i-lab-node-1', signal());
  await until(created.eniId, 'Available');
  await cloud.deleteEni(created.eniId, signal());
  await until(created.eniId, 'gone');
  await cloud.deleteEni(created.eniId, signal());
  await cloud.detachEni(created.eniId, 'i-lab-node-1', signal());
  await cloud.unassignIpv4(created.eniId, added, signal());
  t.strictSame(await cloud.describeEnis({ eniIds: [] }, signal()), [], 'no ids asked is none, not all');
});

t.test('ecs: what a type allows and what a vSwitch is', async (t) => {
  const cloud = adapter(hostOf(await lab(t)));
  t.strictSame(await cloud.instanceLimits('ecs.g7.xlarge', signal()), {
    instanceType: 'ecs.g7.xlarge',
    enis: 4,
    ipv4PerEni: 15,
    ipv6PerEni: 15,
  });
  t.match(await failure(cloud.instanceLimits('ecs.unheard.of', signal())), {
    code: 'cloud',
    detail: /ecs\.unheard\.of/,
  });
  t.strictSame(await cloud.vSwitches(['vsw-lab-2', 'vsw-unknown'], signal()), [
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

t.test('ecs: a listing takes all pages, and a page that fails fails it whole', async (t) => {
  const running = await lab(t, { settings: { pageMax: 2 } });
  const cloud = adapter(hostOf(running));
  for (let n = 0; n < 5; n += 1)
    await cloud.createEni({ ...wanted, ipv6Count: 0, ipv4Count: 1, clientToken: `t${n}` }, signal());
  const all = await cloud.describeEnis({}, signal());
  t.equal(new Set(all.map(({ eniId }) => eniId)).size, 7, 'five and two primaries');
  await plant(running, { api: 'DescribeNetworkInterfaces', effect: 'fail', code: 'InternalError', times: 1 });
  t.match(await failure(cloud.describeEnis({}, signal())), { code: 'cloud', cloudCode: 'InternalError' });
});

t.test('ecs: pages that never end, go round, or fail on the way are an error and no shorter list', async (t) => {
  let page = 0;
  let tokenOf = (_page: number): string => 'again';
  const endpoint = await answering(t, (request, response) => {
    request.resume();
    page += 1;
    const token = tokenOf(page);
    const whole = token !== 'broken';
    response.writeHead(whole ? 200 : 500, { 'content-type': 'application/json' });
    const body = { RequestId: 'r', NetworkInterfaceSets: { NetworkInterfaceSet: [] }, NextToken: token };
    response.end(JSON.stringify(whole ? body : { Code: 'InternalError', RequestId: 'r' }));
  });
  const cloud = adapter(endpoint, { minuteMs: 60 });
  t.match(await failure(cloud.describeEnis({}, signal())), { detail: /NextToken comes twice/ });
  t.equal(page, 2);
  tokenOf = (now) => `token-${now}`;
  t.match(await failure(cloud.describeEnis({}, signal())), { detail: /more than 100 pages/ });
  page = 0;
  tokenOf = (now) => (now === 3 ? 'broken' : `token-${now}`);
  t.match(await failure(cloud.describeEnis({}, signal())), { cloudCode: 'InternalError' });
});

t.test('ecs: the cloud’s own code and request id are in the failure, and the table says what it is', async (t) => {
  const running = await lab(t);
  const cloud = adapter(hostOf(running));
  for (const [cloudCode, code] of [
    ['Throttling.User', 'throttled'],
    ['Throttling', 'throttled'],
    ['Rejected.Throttling', 'throttled'],
    ['InvalidVSwitchId.IpNotEnough', 'vSwitchEmpty'],
    ['QuotaExceeded.PrivateIpAddress', 'vSwitchEmpty'],
    ['EniPerInstanceLimitExceeded', 'eniQuota'],
    ['Something.New', 'cloud'],
    ['SecurityGroupInstanceLimitExceed', 'groupFull'],
    ['InvalidSecurityGroupId.NotFound', 'misconfigured'],
    // It is not asked again for a while, so it is the last.
    ['Forbidden.RAM', 'permission'],
  ] as const) {
    await plant(running, {
      ...{ api: 'CreateNetworkInterface', effect: 'fail', code: cloudCode, message: 'says the cloud' },
      times: 1,
    });
    const failed = await failure(cloud.createEni(wanted, signal()));
    t.match(failed, { code, cloudCode });
    t.match(failed.detail, new RegExp(`^${cloudCode}, request [0-9A-Fa-f-]+, CreateNetworkInterface: says the cloud`));
  }
  const stranger = adapter(hostOf(running), {
    credentials: labCredentials({ accessKeyId: LAB_ACCESS_KEY.accessKeyId, accessKeySecret: 'wrong-secret' }),
  });
  const refused = await failure(stranger.describeEnis({}, signal()));
  t.match(refused, { code: 'permission', cloudCode: 'SignatureDoesNotMatch' });
  t.notMatch(refused.message, /wrong-secret/);
});

t.test('ecs: a call that was turned away unseen is signed anew and repeated; what it says is told else', async (t) => {
  const running = await lab(t);
  const cloud = adapter(hostOf(running), { minuteMs: 60 });
  const fail = (code: string, times: number) =>
    plant(running, { api: 'DescribeNetworkInterfaces', effect: 'fail', code, times });
  await fail('SignatureNonceUsed', 1);
  await cloud.describeEnis({}, signal());
  const calls = running.live.gateway.ledger.read(0, 'DescribeNetworkInterfaces');
  t.strictSame(
    calls.map(({ outcome }) => outcome),
    ['SignatureNonceUsed', 'ok'],
  );
  await fail('InvalidSecurityToken.Expired', 1);
  const refused = await failure(cloud.describeEnis({}, signal()));
  t.match(refused, { code: 'credentials', detail: /^InvalidSecurityToken.Expired, .*The cloud does not take/ });
  await fail('Forbidden.RAM', 1);
  for (let again = 0; again < 3; again += 1)
    t.match(await failure(cloud.describeEnis({}, signal())), {
      code: 'permission',
      detail: /^Forbidden.RAM, request /,
    });
  const forbidden = running.live.gateway.ledger.read(0, null).filter(({ outcome }) => outcome === 'Forbidden.RAM');
  t.equal(forbidden.length, 1, 'asked once: only a person can change it');
  await new Promise((resolve) => setTimeout(resolve, 100));
  await cloud.describeEnis({}, signal());
});

t.test('ecs: a clock that is off is named with the difference', async (t) => {
  const running = await lab(t);
  const skew = new ClockSkew();
  const cloud = adapter(hostOf(running), { skew });
  await cloud.describeEnis({}, signal());
  t.ok(Math.abs(skew.skewMs ?? 9e9) < 5_000, `${skew.skewMs}`);
  const set = (clockAheadMs: number) =>
    fetch(`${running.adminUrl}/settings`, { method: 'POST', body: JSON.stringify({ clockAheadMs }) });
  await set(-20 * 60_000);
  const refused = await failure(cloud.describeEnis({}, signal()));
  t.match(refused, { code: 'clockSkew', cloudCode: 'InvalidTimeStamp.Expired' });
  t.match(refused.detail, /set it, best by NTP.*; the node's clock is (19m 5\ds|20m \ds) ahead of the cloud's$/);
  t.ok((skew.skewMs ?? 0) < -19 * 60_000);
});

t.test('ecs: an answer that cannot be read is no empty list', async (t) => {
  const bodies: [number, string, string][] = [
    [502, 'text/html', '<html>bad gateway</html>'],
    [500, 'application/json', ''],
    [200, 'text/plain', 'ok'],
    [200, 'application/json', ''],
    [200, 'application/json', 'null'],
    [200, 'application/json', '[]'],
    [200, 'application/json', '{}'],
    [200, 'application/json', '{"NetworkInterfaceSets":null}'],
    [200, 'application/json', '{"NetworkInterfaceSets":{"NetworkInterfaceSet":[{}]}}'],
    [200, 'application/json', '{"NetworkInterfaceSets":{"NetworkInterfaceSet":7}}'],
    [500, 'application/json', '{}'],
    [500, 'application/json', 'null'],
  ];
  let [status, type, body] = bodies[0] ?? [0, '', ''];
  const endpoint = await answering(t, (request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  });
  const cloud = adapter(endpoint);
  for ([status, type, body] of bodies) {
    const failed = await failure(cloud.describeEnis({}, signal()));
    t.match(failed, { code: 'cloud', cloudCode: '', detail: /DescribeNetworkInterfaces/ }, `${status} ${type} ${body}`);
  }
});

t.test('ecs: silence ends at the time-out, refusal at once, and both say that nobody answered', async (t) => {
  const hung = await answering(t, () => {});
  t.match(await failure(adapter(hung, { timeoutMs: 100 }).deleteEni('eni-1', signal())), {
    code: 'cloudUnreachable',
    cloudCode: '',
    detail: /DeleteNetworkInterface: no answer in time/,
  });
  const cut = await answering(t, (request) => void request.socket.destroy());
  t.match(await failure(adapter(cut).deleteEni('eni-1', signal())), { code: 'cloudUnreachable', detail: /ECONNRESET/ });
  t.match(await failure(adapter('127.0.0.1:1').deleteEni('eni-1', signal())), {
    code: 'cloudUnreachable',
    detail: /ECONNREFUSED/,
  });
});

t.test('ecs: a signal ends the wait, not the call', async (t) => {
  const hung = await answering(t, () => {});
  const controller = new AbortController();
  const waiting = failure(adapter(hung, { timeoutMs: 300 }).deleteEni('eni-1', controller.signal));
  controller.abort();
  t.match(await waiting, { code: 'cancelled' });
  t.match(await failure(adapter(hung, { timeoutMs: 300 }).deleteEni('eni-1', AbortSignal.abort())), {
    code: 'cancelled',
  });
  // The abandoned call fails later, in the background: unhandled, it would end the process.
  await new Promise((resolve) => setTimeout(resolve, 400));
});

t.test('ecs: the region is asked once, and again only when it could not be told', async (t) => {
  const running = await lab(t);
  let asked = 0;
  const cloud = adapter(hostOf(running), {
    region: async () => {
      asked += 1;
      if (asked === 1) throw new EnactorError('metadata', 'region-id: HTTP 500');
      return 'cn-lab';
    },
  });
  t.match(await failure(cloud.describeEnis({}, signal())), { code: 'metadata' });
  t.equal((await cloud.describeEnis({}, signal())).length, 2);
  await cloud.vSwitches(['vsw-lab-1'], signal());
  t.equal(asked, 2);
});
