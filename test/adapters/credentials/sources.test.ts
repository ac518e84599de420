import { createCipheriv, randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { oidcRoleSource } from '../../../src/adapters/credentials/oidc-role.ts';
import { ramRoleSource } from '../../../src/adapters/credentials/ram-role.ts';
import { RenewingCredentials } from '../../../src/adapters/credentials/renewing-credentials.ts';
import type { CredentialSource } from '../../../src/adapters/credentials/source.ts';
import { credentialSources, type SourcesOptions } from '../../../src/adapters/credentials/sources.ts';
import { tokenFileSource } from '../../../src/adapters/credentials/token-file.ts';
import { ecsCloud } from '../../../src/adapters/ecs/ecs-cloud.ts';
import { metadataClient } from '../../../src/adapters/metadata/metadata-client.ts';
import { OidcIssuer } from '../../../src/lab/cloud/oidc-issuer.ts';
import { type CloudOptions, type RunningCloud, runCloud } from '../../../src/lab/cloud/run-cloud.ts';
import { defaultTopology } from '../../../src/vpc/topology.ts';

const never = () => AbortSignal.timeout(20_000);
const systemClock = { nowMs: Date.now };
const entropy = { fraction: Math.random, token: () => randomBytes(16).toString('hex') };
const SUBJECT = 'system:serviceaccount:kube-system:enactor';
const [ROLE, PROVIDER] = ['acs:ram::1:role/enactor', 'acs:ram::1:oidc-provider/lab'];

async function cloudWith(t: Test, options: Partial<CloudOptions>): Promise<RunningCloud> {
  const topology = defaultTopology('ecs.g7.large', 1);
  const instances = topology.instances.map((one) => ({ ...one, ramRole: 'WorkerRole' }));
  const cloud = await runCloud({
    ...{ listen: '127.0.0.1:0', profile: 'fast', topology: { ...topology, instances } },
    ...options,
  });
  t.teardown(() => cloud.close());
  return cloud;
}

const metadataOf = (cloud: RunningCloud) =>
  metadataClient({ baseUrl: `${cloud.url}/metadata/i-lab-node-1`, pauseMs: 1, tries: 2 });

/** Lists ENIs with these credentials: the cloud checks key, token and signature. */
async function listed(cloud: RunningCloud, source: CredentialSource): Promise<number> {
  const endpoint = new URL(cloud.url).host;
  const api = ecsCloud({
    credentials: new RenewingCredentials({ sources: [source], clock: systemClock, entropy }),
    ...{ region: async () => 'cn-lab', ecsEndpoint: endpoint, vpcEndpoint: endpoint, scheme: 'http' },
    ...{ timeoutMs: 5_000, rateLimits: {} },
  });
  return (await api.describeEnis({}, never())).length;
}

t.test('credentials: a RAM role’s key and token are what the cloud takes', async (t) => {
  const cloud = await cloudWith(t, {});
  const metadata = metadataOf(cloud);
  t.equal(await listed(cloud, ramRoleSource(metadata, null)), 1);
  t.equal(await listed(cloud, ramRoleSource(metadata, 'WorkerRole')), 1);
  await t.rejects(ramRoleSource(metadata, 'Other').obtain(never()), /does not have the RAM role Other/);
  const bare = await cloudWith(t, { topology: defaultTopology('ecs.g7.large', 1) });
  await t.rejects(ramRoleSource(metadataOf(bare), null).obtain(never()), /the instance has no RAM role/);
  const answers = [
    ['<html>', /HTML/],
    ['nothing', /no JSON object/],
    ['{"Code":"Failed"}', /Code is "Failed"/],
    ['{"Code":"Success","AccessKeyId":"a","AccessKeySecret":"b"}', /no Expiration|no SecurityToken/],
  ] as const;
  for (const [body, message] of answers) {
    const fault = { api: 'Metadata', params: { Path: '/latest/meta-data/ram/security-credentials/WorkerRole' } };
    const planted = JSON.stringify({ ...fault, effect: 'reply', body });
    await fetch(`${cloud.adminUrl}/faults`, { method: 'POST', body: planted });
    await t.rejects(ramRoleSource(metadata, null).obtain(never()), { message });
  }
});

async function oidc(t: Test) {
  const dir = t.testdir({});
  const tokenFile = join(dir, 'token');
  const issuer = new OidcIssuer();
  const trust = { roleArn: ROLE, providerArn: PROVIDER, issuer, audience: 'sts.aliyuncs.com', subject: SUBJECT };
  const cloud = await cloudWith(t, { oidcTrusts: [trust] });
  const endpoint = async () => new URL(cloud.url).host;
  const sourceOf = (changed: object = {}) =>
    oidcRoleSource({
      role: { roleArn: ROLE, providerArn: PROVIDER, tokenFile, sessionName: 'enactor-node 1', ...changed },
      ...{ endpoint, scheme: 'http', clock: systemClock, entropy },
    });
  return { cloud, issuer, tokenFile, sourceOf };
}

t.test('credentials: an OIDC token is read for each call, and buys a role', async (t) => {
  const { cloud, issuer, tokenFile, sourceOf } = await oidc(t);
  const source = sourceOf();
  await t.rejects(source.obtain(never()), /the OIDC token file .* is missing/);
  const expired = issuer.issue(SUBJECT, { lifeMs: -1_000 });
  await writeFile(tokenFile, expired);
  const refused = await source.obtain(never()).catch((error: Error) => error.message);
  t.match(refused, /^AuthenticationFail\.OIDCToken\.Expired, request \S+, AssumeRoleWithOIDC: /);
  t.notMatch(String(refused), new RegExp(expired.slice(0, 40)));
  await writeFile(tokenFile, issuer.issue(SUBJECT));
  t.equal(await listed(cloud, source), 1, 'the rotated one does');
  const [entry] = cloud.live.gateway.ledger.read(0, 'AssumeRoleWithOIDC').filter(({ outcome }) => outcome === 'ok');
  t.match(entry?.params, { RoleSessionName: 'enactor-node-1', RoleArn: ROLE });
  t.notOk('OIDCToken' in (entry?.params ?? {}));
});

t.test('credentials: STS of the lab verifies token, provider, role and subject', async (t) => {
  const { issuer, tokenFile, sourceOf } = await oidc(t);
  const [header, , signature] = issuer.issue(SUBJECT).split('.');
  const [, claims] = issuer.issue('system:serviceaccount:default:thief').split('.');
  const cases = [
    [`${header}.${claims}.${signature}`, {}, /OIDCToken\.InvalidSignature/],
    [new OidcIssuer().issue(SUBJECT), {}, /OIDCToken\.InvalidSignature/],
    ['no-jwt', {}, /OIDCToken\.Invalid,/],
    [issuer.issue('system:serviceaccount:default:other'), {}, /AuthenticationFail\.NoPermission/],
    [issuer.issue(SUBJECT, { audience: 'elsewhere' }), {}, /AudienceNotMatch/],
    [issuer.issue(SUBJECT), { roleArn: 'acs:ram::1:role/none' }, /EntityNotExist\.Role/],
    [issuer.issue(SUBJECT), { providerArn: 'acs:none' }, /NoPermission.*No such OIDC Provider/],
  ] as const;
  for (const [token, changed, message] of cases) {
    await writeFile(tokenFile, token);
    await t.rejects(sourceOf(changed).obtain(never()), { message });
  }
});

function encrypted(fields: Record<string, string>, keyring: string, expiration: string): string {
  const hidden = Object.entries(fields).map(([name, value]) => {
    const iv = randomBytes(16);
    const cipher = createCipheriv(`aes-${keyring.length * 8}-cbc`, Buffer.from(keyring), iv);
    return [name, Buffer.concat([iv, cipher.update(value), cipher.final()]).toString('base64')] as const;
  });
  return JSON.stringify({ ...Object.fromEntries(hidden), keyring, expiration });
}

t.test('credentials: the encrypted token file is read, and its faults are named without its content', async (t) => {
  const path = join(t.testdir({}), 'token-config');
  const source = tokenFileSource('addonTokenFile', path);
  t.equal(await source.isThere(never()), false);
  const fields = { 'access.key.id': 'STS.id', 'access.key.secret': 'TOPSECRET', 'security.token': 'TOKEN' };
  for (const keyring of ['0123456789abcdef', '0123456789abcdef01234567', '0123456789abcdef0123456789abcdef']) {
    await writeFile(path, encrypted(fields, keyring, '2027-01-02T03:04:05Z'));
    const key = await source.obtain(never());
    t.match(key, { accessKeyId: 'STS.id', untilMs: Date.parse('2027-01-02T03:04:05Z') });
    t.strictSame([key.accessKeySecret(), key.securityToken()], ['TOPSECRET', 'TOKEN']);
  }
  const good = encrypted(fields, '0123456789abcdef', '2027-01-02T03:04:05Z');
  for (const [text, message] of [
    ['TOPSECRET', /^is not JSON$/],
    ['{"TOPSECRET":1}', /has no keyring/],
    [good.replace('0123456789abcdef', 'short'), /its keyring is no AES key/],
    [good.replace('0123456789abcdef', 'fedcba9876543210'), /its access.key.id cannot be decrypted|STS/],
    [good.replace('2027-01-02T03:04:05Z', 'soon'), /its expiration is no instant/],
    [good.replace('security.token', 'other'), /has no security.token/],
  ] as const) {
    await writeFile(path, text);
    const failure = await source.obtain(never()).catch((error: Error) => error);
    t.match((failure as Error).message, message);
    t.notMatch((failure as Error).message, /TOPSECRET|TOKEN/);
  }
});

t.test('credentials: the order of the sources, and the one that alone may be asked', async (t) => {
  const dir = t.testdir({ addon: {} });
  const addon = join(dir, 'addon');
  const tokenConfig = join(dir, 'token-config');
  const role = { roleArn: ROLE, providerArn: PROVIDER, tokenFile: join(dir, 'oidc'), sessionName: 'me' };
  const options: SourcesOptions = {
    keyPair: { accessKeyId: 'id', accessKeySecret: 'secret' },
    addonSecretDir: addon,
    tokenFile: '/nowhere/token',
    addonTokenFile: tokenConfig,
    oidc: { role, endpoint: async () => 'localhost', scheme: 'http', clock: systemClock, entropy },
    metadata: { get: async () => null },
    ramRole: null,
    only: null,
  };
  const first = async (changed: Partial<SourcesOptions>) => {
    for (const source of credentialSources({ ...options, ...changed })) {
      if (await source.isThere(never())) return source.name;
    }
    return null;
  };
  await writeFile(join(addon, 'access-key-id'), 'file-id\n');
  await writeFile(tokenConfig, '{}');
  t.equal(await first({}), 'addonFiles');
  const [files] = credentialSources(options);
  await t.rejects(async () => void (await files?.obtain(never())), /its access-key-secret is missing/);
  await writeFile(join(addon, 'access-key-secret'), 'file-secret\n');
  t.match(await files?.obtain(never()), { accessKeyId: 'file-id' });
  await rm(addon, { recursive: true });
  t.equal(await first({}), 'config');
  t.equal(await first({ keyPair: null }), 'tokenFile');
  t.equal(await first({ keyPair: null, tokenFile: null }), 'oidcRole');
  const without = { keyPair: null, tokenFile: null, oidc: { ...options.oidc, role: null } };
  t.equal(await first(without), 'addonTokenFile');
  await rm(tokenConfig);
  t.equal(await first(without), 'ramRole');
  t.equal(await first({ only: 'ramRole' }), 'ramRole');
  t.equal(await first({ only: 'addonFiles' }), null);
  await mkdir(join(addon, 'access-key-id'), { recursive: true });
  await t.rejects(first({}), /cannot be read: EISDIR/, 'what cannot be read is not passed over');
});
