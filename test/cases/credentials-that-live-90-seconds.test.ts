/**
 * Ten minutes of steady ADD and DEL with credentials that live 90 s, from the metadata service and from STS: nothing fails, nobody
 * is refused for an old token, each life is renewed once. Then their giver is away for a while, and the cloud ends them early.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { oidcRoleSource } from '../../src/adapters/credentials/oidc-role.ts';
import { ramRoleSource } from '../../src/adapters/credentials/ram-role.ts';
import { RenewingCredentials } from '../../src/adapters/credentials/renewing-credentials.ts';
import type { CredentialSource } from '../../src/adapters/credentials/source.ts';
import { metadataClient } from '../../src/adapters/metadata/metadata-client.ts';
import { OidcIssuer } from '../../src/lab/cloud/oidc-issuer.ts';
import type { RunningCloud } from '../../src/lab/cloud/run-cloud.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { checkRest } from './invariants.ts';
import { INSTANCE, type Rig, rig } from './rig.ts';
import { SPEED, sped } from './speed.ts';

/** This case alone would take as long as all others: it is sped up once more. */
const faster = (ms: number): number => sped(SPEED === 1 ? ms : ms / 2);
const LIFE_MS = faster(90_000);
const TEN_MINUTES_MS = faster(600_000);
const BETWEEN_ADDS_MS = 6_000;
const PODS = 5;
const SLOW_MS = 60_000;
const AUDIENCE = 'sts.aliyuncs.com';
const [ROLE, PROVIDER, SUBJECT] = [
  'acs:ram::1:role/enactor',
  'acs:ram::1:oidc-provider/lab',
  'system:serviceaccount:a:b',
];
const settings = { coolDownMs: 1_000, minIdle: 0, maxIdle: 0, poolPeriodMs: 5_000, minEniAgeMs: 1_000 };

t.jobs = 2;

const credentialsOver = (source: (cloud: RunningCloud) => CredentialSource) => (cloud: RunningCloud) =>
  new RenewingCredentials({
    sources: [source(cloud)],
    clock: { nowMs: Date.now },
    entropy: { fraction: Math.random },
  });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** One pod comes and one goes at a time; answers with what failed. */
async function steady(lab: Rig, forMs: number, from: number, enough = (_pods: number) => true) {
  const failures: Error[] = [];
  const untilMs = Date.now() + forMs;
  let pod = from;
  for (; Date.now() < untilMs || (!enough(pod) && Date.now() < untilMs + SLOW_MS); pod += 1) {
    const [nextMs, leaving] = [Date.now() + faster(BETWEEN_ADDS_MS), pod - PODS];
    const calls = [lab.add(`pod-${pod}`), ...(leaving < 0 ? [] : [lab.del(`pod-${leaving}`)])];
    for (const one of await Promise.allSettled(calls))
      if (one.status === 'rejected') failures.push(one.reason as Error);
    await pause(Math.max(0, nextMs - Date.now()));
  }
  return { failures, pods: pod };
}

async function tenMinutes(t: Test, lab: Rig, renewals: () => number, api: object): Promise<void> {
  const { failures, pods } = await steady(
    ...([lab, TEN_MINUTES_MS, 0] as const),
    // A machine that is slow takes longer for as much.
    (done) => done > 24 && renewals() > TEN_MINUTES_MS / LIFE_MS,
  );
  t.strictSame(failures, [], `of ${pods} pods none failed`);
  t.ok(pods > 20, `${pods} pods came and went`);
  const refused = () =>
    lab.cloud.live.gateway.ledger.read(0, null).filter((call) => /Security|Signature/.test(call.outcome));
  const lives = TEN_MINUTES_MS / LIFE_MS;
  t.ok(renewals() >= Math.floor(lives), `${renewals()} renewals in ${lives.toFixed(1)} lives`);
  t.ok(renewals() <= 4 * lives, `and no stampede of them: ${renewals()}`);
  // A machine that stands still for longer than the last part of a life signs with what has ended when it arrives. Each call may once.
  t.ok(refused().length <= 2 * renewals(), `no call is refused again and again: ${refused().length}`);

  // Shorter than what is left when a renewal is due.
  const [id] = await lab.plant({ ...api, effect: 'fail', code: 'InternalError', status: 500, times: 10_000 });
  const away = await steady(lab, LIFE_MS / 5, pods);
  await lab.unplant(id);
  t.strictSame(away.failures, [], 'the old ones do while they live, and nobody fails for a moment without any');
  let { pods: after } = away;
  let [ended, before] = [0, 0];
  // A machine that stands still may let them end by themselves.
  for (let round = 0; round < 20 && (ended === 0 || refused().length === before); round += 1) {
    after = (await steady(lab, LIFE_MS / 10, after)).pods;
    before = refused().length;
    const answer = await fetch(`${lab.cloud.adminUrl}/credentials`, { method: 'DELETE' });
    ended = ((await answer.json()) as { ended: number }).ended;
    const { failures: none, pods: later } = await steady(lab, LIFE_MS / 4, after);
    t.strictSame(none, [], 'those that were ended early are replaced at the cloud’s word');
    after = later;
  }
  t.ok(ended > 0 && refused().length > before, 'which it gave');
  for (let pod = Math.max(0, after - PODS); pod < after; pod += 1) await lab.del(`pod-${pod}`);
  await checkRest(t, lab);
}

t.test('credentials that live 90 s: the RAM role of the instance', async (t) => {
  const topology = defaultTopology('lab.small', 1);
  const instances = topology.instances.map((one) => ({ ...one, ramRole: 'WorkerRole' }));
  const lab = await rig(t, {
    settings,
    topology: { ...topology, instances },
    access: { roleLifeMs: LIFE_MS },
    credentials: credentialsOver((cloud) =>
      ramRoleSource(metadataClient({ baseUrl: `${cloud.url}/metadata/${INSTANCE}`, pauseMs: 1, tries: 1 }), null),
    ),
  });
  const path = '/latest/meta-data/ram/security-credentials/WorkerRole';
  const renewals = () =>
    lab.cloud.live.metadataLedger.read(0, null).filter(({ params }) => params.Path === path).length;
  await tenMinutes(t, lab, renewals, { api: 'Metadata' });
});

t.test('credentials that live 90 s: a role assumed with an OIDC token that rotates', async (t) => {
  const tokenFile = join(t.testdir({}), 'token');
  const issuer = new OidcIssuer();
  const rotate = () => writeFile(tokenFile, issuer.issue(SUBJECT, { lifeMs: LIFE_MS }));
  await rotate();
  const rotating = setInterval(() => void rotate(), LIFE_MS / 2);
  t.teardown(() => clearInterval(rotating));
  const lab = await rig(t, {
    settings,
    access: {
      oidcTrusts: [{ roleArn: ROLE, providerArn: PROVIDER, issuer, audience: AUDIENCE, subject: SUBJECT }],
      oidcLifeMs: LIFE_MS,
    },
    credentials: credentialsOver((cloud) =>
      oidcRoleSource({
        role: { roleArn: ROLE, providerArn: PROVIDER, tokenFile, sessionName: 'enactor-node-1' },
        endpoint: async () => new URL(cloud.url).host,
        scheme: 'http',
        clock: { nowMs: Date.now },
        entropy: { token: () => crypto.randomUUID() },
      }),
    ),
  });
  const renewals = () => lab.calls('AssumeRoleWithOIDC').filter(({ outcome }) => outcome === 'ok').length;
  await tenMinutes(t, lab, renewals, { api: 'AssumeRoleWithOIDC' });
});
