/** Components of deploy/: what each makes of an overlay. That kubectl renders them like this is in test/lab/apiserver/kubectl.test.ts. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1DaemonSet } from '@kubernetes/client-node';
import { type Test, test } from 'tap';
import { MOUNT_POINTS } from '../../.ci/image/recipe.ts';
import { systemClock } from '../../src/adapters/clock/steady-clock.ts';
import { credentialSources } from '../../src/adapters/credentials/sources.ts';
import { parseConfig } from '../../src/core/config.ts';
import { systemEntropy } from '../../src/daemon/entropy.ts';
import { parseFlags } from '../../src/daemon/flags.ts';
import type { KubeObject } from '../../src/lab/apiserver/kube-object.ts';
import { isWanted } from '../../src/lab/controllers/node-affinity.ts';
import { configMapOf, daemonSetOf, render } from '../e2e/kustomize.ts';

const OVERLAY = 'overlays/eni-multi-ip';

/** The overlay with these components, as somebody has it who takes away their lines' comment signs. */
function overlayWith(t: Test, ...components: readonly string[]) {
  const deploy = join(t.testdir(), 'deploy');
  cpSync('deploy', deploy, { recursive: true });
  const path = join(deploy, OVERLAY, 'kustomization.yaml');
  const chosen = components.map((name) => `#   - ../../components/${name}`);
  const lines = readFileSync(path, 'utf8').split('\n');
  const edited = lines.map((line) =>
    chosen.includes(line) || line === '# components:' ? line.replace(/^# /, '') : line,
  );
  writeFileSync(path, edited.join('\n'));
  return render(join(deploy, OVERLAY));
}

const podOf = (set: V1DaemonSet) => set.spec?.template.spec;

const node = (labels: Readonly<Record<string, string>>): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Node' },
  metadata: { name: 'n', uid: 'n', resourceVersion: '1', creationTimestamp: '', labels },
});

test('components: our daemon leaves a node whose pods go back, and with node-by-node is where it is told to be', async (t) => {
  const linux = { 'kubernetes.io/os': 'linux' };
  const [bare, told] = [render(join('deploy', OVERLAY)), overlayWith(t, 'node-by-node')].map((objects) =>
    JSON.parse(JSON.stringify(podOf(daemonSetOf(objects)))),
  );
  const giveBack = JSON.parse(JSON.stringify(podOf(daemonSetOf(render('deploy/give-back')))));
  const on = (labels: Readonly<Record<string, string>>) =>
    [bare, told, giveBack].map((pod) => isWanted(pod, node({ ...linux, ...labels })));
  t.strictSame(on({}), [true, false, false]);
  t.strictSame(on({ 'enactor.io/cni': 'enactor' }), [true, true, false]);
  t.strictSame(on({ 'enactor.io/cni': 'enactor', 'enactor.io/give-back': 'true' }), [false, false, true]);
  t.strictSame(on({ 'enactor.io/give-back': 'true' }), [false, false, true]);
});

/** What the daemon makes of its container: the first source that is there, where files are below `root`. */
async function sourceOf(objects: Parameters<typeof daemonSetOf>[0], root: string) {
  const [daemon] = podOf(daemonSetOf(objects))?.containers ?? [];
  const said = Object.fromEntries((daemon?.env ?? []).flatMap(({ name, value }) => (value ? [[name, value]] : [])));
  const before = { ...process.env };
  Object.assign(process.env, said);
  try {
    const flags = parseFlags(['--node-name', 'n1', ...(daemon?.args ?? []).filter((one) => !one.includes('$('))]);
    const { credentials } = parseConfig(configMapOf(objects).data?.eni_conf ?? '', 'n1');
    const oidc = { endpoint: async () => 'sts', scheme: 'http', clock: systemClock, entropy: systemEntropy } as const;
    const sources = credentialSources({
      ...{ keyPair: credentials.keyPair, tokenFile: credentials.tokenFile, only: credentials.source },
      ...{ ramRole: credentials.ramRole, addonSecretDir: join(root, flags.addonSecretDir) },
      ...{ addonTokenFile: join(root, flags.addonTokenFile), oidc: { ...oidc, role: flags.oidcRole } },
      metadata: { get: async () => null },
    });
    for (const source of sources)
      if (await source.isThere(AbortSignal.timeout(1_000))) return { name: source.name, source, flags };
    throw new Error('no source is there');
  } finally {
    for (const name of Object.keys(said)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

/** Where the volume of that name is in the daemon's container. */
function mountedAt(objects: Parameters<typeof daemonSetOf>[0], name: string): string {
  const [daemon] = podOf(daemonSetOf(objects))?.containers ?? [];
  return daemon?.volumeMounts?.find((one) => one.name === name)?.mountPath ?? '';
}

const hasPlace = (path: string) => MOUNT_POINTS.some((place) => place === path.slice(1).replace(/^var\/run\//, 'run/'));

test('components: without one of credentials the daemon takes the role of its node', async (t) => {
  t.match(await sourceOf(render(join('deploy', OVERLAY)), t.testdir()), { name: 'ramRole' });
});

test('components: credentials-secret mounts the pair where the daemon looks for one', async (t) => {
  const objects = overlayWith(t, 'credentials-secret');
  const root = t.testdir();
  const path = mountedAt(objects, 'credentials');
  t.ok(hasPlace(path), 'which is in the read-only image');
  // As install.md makes the Secret, each key a file; one of them ends with an editor's line.
  mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, path, 'access-key-id'), 'LTAI');
  writeFileSync(join(root, path, 'access-key-secret'), 'SECRET\n');
  const { name, source } = await sourceOf(objects, root);
  t.equal(name, 'addonFiles');
  const key = await source.obtain(AbortSignal.timeout(1_000));
  t.strictSame([key.accessKeyId, key.accessKeySecret()], ['LTAI', 'SECRET']);
  const secret = podOf(daemonSetOf(objects))?.volumes?.find((one) => one.name === 'credentials')?.secret;
  const page = readFileSync('deploy/install.md', 'utf8');
  t.match(
    page,
    new RegExp(`create secret generic ${secret?.secretName} --from-file=access-key-id --from-file=access-key-secret`),
  );
});

test('components: credentials-rrsa gives the daemon a role, and a token for STS where it looks for one', async (t) => {
  const objects = overlayWith(t, 'credentials-rrsa');
  const { name, flags } = await sourceOf(objects, t.testdir());
  t.equal(name, 'oidcRole');
  const path = mountedAt(objects, 'rrsa');
  t.ok(hasPlace(path), 'which is in the read-only image');
  const volume = podOf(daemonSetOf(objects))?.volumes?.find((one) => one.name === 'rrsa');
  const token = volume?.projected?.sources?.[0]?.serviceAccountToken;
  t.equal(flags.oidcRole?.tokenFile, join(path, token?.path ?? ''));
  t.equal(token?.audience, 'sts.aliyuncs.com');
  const set = daemonSetOf(objects);
  const account = `system:serviceaccount:${set.metadata?.namespace}:${podOf(set)?.serviceAccountName}`;
  t.ok(readFileSync('deploy/install.md', 'utf8').includes(`\`${account}\``), 'whom the role has to trust');
});
