/**
 * `enactor verify-cloud` against simulated clouds that differ from the one we assume: each difference is found, its profile makes the
 * simulated cloud like it, and nothing of the run is left.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LAB_ACCESS_KEY } from '../../src/lab/cloud/keys.ts';
import { type RunningCloud, runCloud } from '../../src/lab/cloud/run-cloud.ts';
import { AccessKey, type Credentials } from '../../src/ports/credentials.ts';
import { Bench, type Plan } from '../../src/verify/bench.ts';
import { cleanUp } from '../../src/verify/clean-up.ts';
import { creation } from '../../src/verify/experiments/creation.ts';
import { profileOf } from '../../src/verify/profile.ts';
import { rawCloud } from '../../src/verify/raw-cloud.ts';
import { rawMetadata } from '../../src/verify/raw-metadata.ts';
import { RUN_TAG, type Verification, verifyCloud } from '../../src/verify/verify.ts';
import { parseProfile, withProfile } from '../../src/vpc/cloud-profile.ts';
import { type Delays, defaultSettings, type Settings } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';

const SPEED = 10;
const INSTANCE = 'i-lab-node-1';
const realistic = defaultSettings('realistic');
const { accessKeyId, accessKeySecret } = LAB_ACCESS_KEY;
const key = new AccessKey({ accessKeyId, accessKeySecret });
const labKey: Credentials = {
  current: async () => key,
  refused: () => {},
  report: () => ({ source: null, from: 'test', obtainedMs: null, untilMs: null, failure: null }),
};

type Change = Partial<Omit<Settings, 'delays'>> & { readonly delays?: Partial<Delays> };

async function cloudWith(t: Test, { delays, ...switches }: Change, speed = SPEED): Promise<RunningCloud> {
  const topology = defaultTopology('ecs.g7.xlarge', 2);
  const scarce = {
    vSwitchId: 'vsw-scarce',
    vpcId: 'vpc-lab',
    zoneId: 'cn-lab-a',
    cidr: '192.168.2.0/28',
    ipv6Cidr: null,
  };
  const cloud = await runCloud({
    listen: '127.0.0.1:0',
    topology: { ...topology, vSwitches: [...topology.vSwitches, scarce] },
    settings: { ...switches, speed, delays: { ...realistic.delays, ...delays } },
  });
  t.teardown(() => cloud.close());
  return cloud;
}

const plan: Plan = {
  ...{ vSwitchId: 'vsw-lab-1', securityGroupId: 'sg-lab', instanceId: INSTANCE, scarceVSwitchId: 'vsw-scarce' },
  ...{ tags: { [RUN_TAG]: 'test' }, pollMs: 20, speed: SPEED, patienceMs: 60_000 },
};

const raw = (cloud: Pick<RunningCloud, 'url'>, signal = new AbortController().signal, callsMax = 5_000) => {
  const host = new URL(cloud.url).host;
  const endpoints = { ecsEndpoint: host, vpcEndpoint: host, scheme: 'http' as const };
  return rawCloud({ ...endpoints, regionId: 'cn-lab', credentials: labKey, timeoutMs: 20_000, callsMax }, signal);
};

async function verified(
  cloud: RunningCloud,
  signal = new AbortController().signal,
  callsMax?: number,
  speed = SPEED,
): Promise<Verification> {
  const plugged = (mac: string) => cloud.model.truth(Date.now()).enis.some((eni) => eni.mac === mac && eni.plugged);
  return verifyCloud({
    ...{ plan: { ...plan, speed }, raw: raw(cloud, signal, callsMax), cleaner: raw(cloud), signal },
    metadata: await rawMetadata(`${cloud.url}/metadata/${INSTANCE}`, signal),
    ...{ hasDevice: plugged, found: () => {}, doing: () => {} },
  });
}

const differing = ({ findings }: Verification): string[] =>
  findings.flatMap(({ name, verdict }) => (verdict === 'differs' ? [name] : [])).sort();
const isTime = (name: string): boolean => name.endsWith('Ms');

/** ENIs and free addresses, as before the run. */
async function untouched(t: Test, cloud: RunningCloud, run: () => Promise<Verification>): Promise<Verification> {
  const state = () => {
    const { enis, vSwitches } = cloud.model.truth(Date.now());
    return {
      enis: enis.map((eni) => eni.eniId).sort(),
      free: vSwitches.map((one) => one.vSwitchId),
    };
  };
  const before = state();
  const result = await run();
  t.strictSame(state(), before, 'nothing is left');
  t.strictSame(result.cleanUp.left, []);
  return result;
}

t.jobs = 6;
t.setTimeout(240_000);

t.test('a cloud as we assume it', { buffered: true }, async (t) => {
  const cloud = await cloudWith(t, {});
  const result = await untouched(t, cloud, () => verified(cloud));
  t.equal(result.failure, null);
  // How long things take is the machine's word too, when it is busy.
  t.strictSame(
    differing(result).filter((name) => !isTime(name)),
    [],
  );
  t.strictSame(
    result.findings.filter(({ verdict }) => verdict === 'unknown'),
    [],
    'everything was tried',
  );
  t.ok(result.findings.length > 35, `${result.findings.length} findings`);
});

type Case = {
  readonly what: string;
  readonly change: Change;
  readonly found: readonly string[];
  readonly speed?: number;
};

const CASES: readonly Case[] = [
  {
    what: 'switches the one way',
    change: { detachAvailable: 'accept', tagFilters: 'any', conflicts: false },
    found: ['conflicts', 'detachAvailable', 'tagFilters'],
  },
  {
    what: 'switches the other way',
    change: { shortAssigns: true, reuse: 'soon', pageMax: 2 },
    found: ['pages', 'reuse', 'shortAssigns'],
  },
  {
    what: 'slow to attach, to detach and to delete',
    change: {
      delays: { creatingMs: 8_000, attachingMs: 15_000, detachingMs: 12_000, deletingMs: 9_000, deviceMs: 12_000 },
    },
    found: ['attachingMs', 'creatingMs', 'deletingMs', 'detachingMs', 'deviceMs'],
  },
  {
    what: 'metadata far behind',
    change: { delays: { metadataMacMs: 18_000, metadataAddressMs: 12_000 } },
    found: ['metadataAddressMs', 'metadataMacMs'],
  },
  {
    what: 'slow to answer',
    // Every call takes seconds: what has to happen within one has time enough at twice the speed too.
    speed: 2 * SPEED,
    change: {
      delays: {
        createCallMs: 5_000,
        assignCallMs: 6_000,
        unassignCallMs: 5_000,
        describeCallMs: 1_500,
        freeCountMs: 40_000,
        describeLagMs: 7_000,
      },
    },
    found: ['assignCallMs', 'createCallMs', 'describeCallMs', 'describeLagMs', 'freeCountMs', 'unassignCallMs'],
  },
];

for (const { what, change, found, speed } of CASES)
  t.test(`a cloud that differs: ${what}`, { buffered: true }, async (t) => {
    const cloud = await cloudWith(t, change, speed);
    const result = await untouched(t, cloud, () => verified(cloud, undefined, undefined, speed));
    t.equal(result.failure, null);
    const names = differing(result);
    t.strictSame(
      found.filter((name) => !names.includes(name)),
      [],
      'every difference is found',
    );
    t.strictSame(
      names.filter((name) => !isTime(name) && !found.includes(name)),
      [],
      'and no other',
    );

    const { delays, ...switches } = change;
    const profile = parseProfile(JSON.stringify(profileOf(result.findings, { at: 'now' })));
    const like = withProfile(realistic, profile);
    for (const [name, value] of Object.entries(switches)) t.equal(like[name as keyof Settings], value, name);
    for (const [name, value] of Object.entries(delays ?? {}))
      t.ok(
        like.delays[name as keyof Delays] > 0.7 * value,
        `${name}: ${like.delays[name as keyof Delays]} of ${value} ms`,
      );
  });

t.test('refusals with other codes are told', { buffered: true }, async (t) => {
  const cloud = await cloudWith(t, {});
  const planted = await fetch(`${cloud.adminUrl}/faults`, {
    method: 'POST',
    body: JSON.stringify([
      { api: 'DetachNetworkInterface', effect: 'fail', code: 'InvalidOperation.EniLinked', times: 1 },
    ]),
  });
  t.equal(planted.status, 200, await planted.text());
  const result = await untouched(t, cloud, () => verified(cloud));
  const detach = result.findings.find(({ name }) => name === 'detachAvailable');
  t.match(detach, { verdict: 'differs', seen: /InvalidOperation.EniLinked/ });
});

t.test('a run that is cut off leaves nothing either', { buffered: true }, async (t) => {
  const cloud = await cloudWith(t, {});
  const interrupted = new AbortController();
  const result = await untouched(t, cloud, async () => {
    const running = verified(cloud, interrupted.signal);
    while (!cloud.model.truth(Date.now()).enis.some((eni) => eni.status === 'InUse' && eni.type === 'Secondary'))
      await new Promise((resolve) => setTimeout(resolve, 10));
    interrupted.abort();
    return running;
  });
  t.ok(result.failure, 'it says that it came to no end');
  t.equal(result.cleanUp.removed.length, 2, 'the ENI, and the one in the scarce vSwitch');
});

t.test('a run costs no more calls than it may', { buffered: true }, async (t) => {
  const cloud = await cloudWith(t, {});
  const result = await untouched(t, cloud, () => verified(cloud, new AbortController().signal, 12));
  t.match(result.failure, /12 calls were made/);
});

t.test('of a cloud that does not answer nothing is asked, and nothing is waited for', async (t) => {
  const cloud = await cloudWith(t, {});
  const forbidden = { api: 'DescribeNetworkInterfaces', effect: 'fail', code: 'Forbidden.RAM', times: 9 };
  await fetch(`${cloud.adminUrl}/faults`, { method: 'POST', body: JSON.stringify([forbidden]) });
  const result = await untouched(t, cloud, () => verified(cloud));
  t.match(result, { failure: /Forbidden.RAM/, calls: 1, findings: [], cleanUp: { removed: [], left: [] } });
  const nobody = raw({ url: 'http://127.0.0.1:1' });
  const signal = new AbortController().signal;
  const noise = { metadata: null, hasDevice: null, found: () => {}, doing: () => {} };
  const away = await verifyCloud({ plan, raw: nobody, cleaner: nobody, ...noise, signal });
  t.match(away, { failure: /ECONNREFUSED/, calls: 1, findings: [] });
});

t.test('what a run left that was killed is found by its tag', { buffered: true }, async (t) => {
  const cloud = await cloudWith(t, {});
  const signal = new AbortController().signal;
  const noise = { metadata: null, hasDevice: null, found: () => {}, doing: () => {} };
  const eni = await creation(new Bench({ plan, raw: raw(cloud), ...noise, signal }));
  const other = await raw(cloud).create({
    ...{
      vSwitchId: 'vsw-lab-1',
      securityGroupId: 'sg-lab',
      description: '',
      clientToken: 'other',
      tags: { mine: 'no' },
    },
  });
  const taken = await cleanUp(raw(cloud), { [RUN_TAG]: '' }, { pauseMs: 50, limitMs: 30_000 });
  t.strictSame(taken, { removed: [eni.eniId], left: [] });
  const { enis } = cloud.model.truth(Date.now());
  t.ok(other.ok && enis.some(({ eniId }) => eniId === other.value.eniId), 'what is others’ stays');
});

t.test('a profile that cannot be is refused by name', async (t) => {
  const of = (settings: unknown) => JSON.stringify({ kind: 'enactor.cloud-profile/1', settings });
  const refused = (text: string, why: RegExp) =>
    t.throws(() => parseProfile(text), { name: 'RangeError', message: why });
  refused('{', /no JSON/);
  refused('[]', /the profile: .* is no object/);
  refused('{"kind":"other"}', /kind: "other"/);
  refused(of({ speed: 3 }), /settings.speed: a profile does not tell this/);
  refused(of({ reuse: 'never' }), /settings.reuse: "never" is none of late, soon/);
  refused(of({ pageMax: 0 }), /settings.pageMax/);
  refused(of({ delays: { attachMs: 3 } }), /settings.delays.attachMs: there is no such delay/);
  refused(of({ delays: { attachingMs: -1 } }), /settings.delays.attachingMs: -1/);
  t.strictSame(parseProfile(of({ reuse: 'soon' })).settings, { reuse: 'soon', delays: {} });
});

t.test('as a command', { buffered: true }, async (t) => {
  const cloud = await cloudWith(t, { reuse: 'soon' });
  const dir = mkdtempSync(join(tmpdir(), 'verify-'));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const { host } = new URL(cloud.url);
  const place = ['--region', 'cn-lab', '--ecs-endpoint', host, '--vpc-endpoint', host, '--scheme', 'http'];
  const run = async (...more: readonly string[]) => {
    const child = spawn(process.execPath, ['dist/enactor.js', 'verify-cloud', ...place, ...more], {
      env: {
        ...process.env,
        ALIBABA_CLOUD_ACCESS_KEY_ID: LAB_ACCESS_KEY.accessKeyId,
        ALIBABA_CLOUD_ACCESS_KEY_SECRET: LAB_ACCESS_KEY.accessKeySecret,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (text) => {
      stdout += text;
    });
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    t.notMatch(stdout + stderr, LAB_ACCESS_KEY.accessKeySecret, 'no secret is told');
    return { code, stdout, stderr };
  };
  const file = join(dir, 'cloud.json');
  const speed = ['--speed', String(SPEED)];
  const made = await run(
    '--vswitch',
    'vsw-lab-1',
    '--security-group',
    'sg-lab',
    ...speed,
    '--write-profile',
    file,
    '-o',
    'json',
  );
  t.equal(made.code, 0, made.stderr);
  const { findings } = JSON.parse(made.stdout) as Verification;
  t.equal(findings.find(({ name }) => name === 'reuse')?.verdict, 'differs');
  t.equal(findings.find(({ name }) => name === 'deleteInUse')?.verdict, 'unknown', 'without an instance');
  t.equal(parseProfile(readFileSync(file, 'utf8')).settings.reuse, 'soon');
  t.match(await run('--clean'), { code: 0, stdout: 'nothing had to be taken away\n' });
  t.match(await run(), { code: 2, stderr: 'say --vswitch and --security-group' });
});
