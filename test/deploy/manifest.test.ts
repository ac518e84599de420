/** What is shipped must fit together: names and paths occur in the manifests, the conflist, the image and the programs. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadAllYaml, type V1ConfigMap, type V1DaemonSet } from '@kubernetes/client-node';
import { load } from 'js-yaml';
import { test } from 'tap';
import { imageConfig, MOUNT_POINTS } from '../../.ci/image/recipe.ts';
import { parseConfig } from '../../src/core/config.ts';
import { render } from '../e2e/kustomize.ts';

const daemonSet = loadAllYaml(readFileSync('deploy/base/daemonset.yaml', 'utf8'))[0] as V1DaemonSet;
const conflist = JSON.parse(readFileSync('deploy/10-enactor.conflist', 'utf8'));
const pod = daemonSet.spec?.template.spec;
const [daemon] = pod?.containers ?? [];
const containers = [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])];

const OVERLAYS = readdirSync('deploy/overlays').map((name) => join('overlays', name));
/** Those that are applied. */
const FOLDERS = [...OVERLAYS, 'uninstall', 'give-back'];
/** Source: Terway, charts/terway/templates/terwayd: names of what it has in kube-system. */
const TERWAYS = ['eni-config', 'terway', 'terway-eniip', 'terway-pod-reader', 'terway-binding'];

test('manifest: every mount has a volume, and each volume is mounted', async (t) => {
  const volumes = pod?.volumes?.map((volume) => volume.name).sort();
  const mounted = new Set(containers.flatMap((each) => each.volumeMounts?.map((mount) => mount.name) ?? []));
  t.same([...mounted].sort(), volumes);
});

test('manifest: the plugin finds daemon and data where the daemon is told to have them', async (t) => {
  const [plugin] = conflist.plugins;
  t.equal(conflist.cniVersion, '1.0.0', 'containerd 1.6 refuses a later one');
  t.strictSame(conflist.cniVersions, ['1.0.0', '1.1.0'], 'others call STATUS and GC');
  t.equal(plugin.type, 'enactor-cni');
  t.ok(daemon?.args?.includes(`--data-dir=${plugin.dataDir}`));
  const hostPaths = pod?.volumes?.flatMap((volume) => volume.hostPath?.path ?? []);
  t.ok(hostPaths?.includes(plugin.dataDir));
  t.ok(hostPaths?.includes(dirname(plugin.daemonSocket)), 'the socket is on the host');
  for (const volume of pod?.volumes ?? []) {
    const mount = daemon?.volumeMounts?.find((each) => each.name === volume.name);
    if (mount === undefined || volume.hostPath === undefined) continue;
    t.ok(
      [volume.hostPath.path, `/host${volume.hostPath.path}`].includes(mount.mountPath),
      `${mount.mountPath}: one path inside and outside`,
    );
  }
});

test('manifest: the daemon knows each flag it is given', async (t) => {
  const help = execFileSync('node', ['dist/enactord.js', '--help'], { encoding: 'utf8', timeout: 30_000 });
  const flags = daemon?.args?.map((argument) => argument.split('=')[0]) ?? [];
  t.ok(flags.length > 0);
  for (const flag of flags) t.match(help, new RegExp(`${flag}\\b`));
});

test('manifest: no container may more than it needs, and each has its place in the image', async (t) => {
  for (const { name, securityContext, volumeMounts = [], command } of containers) {
    t.match(
      securityContext,
      { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      name,
    );
    t.not(securityContext?.privileged, true, name);
    for (const { mountPath } of volumeMounts) {
      const place = mountPath.slice(1).replace(/^var\/run\//, 'run/');
      t.ok(
        MOUNT_POINTS.some((path) => path === place || path.startsWith(`${place}/`)),
        `${mountPath} is in the read-only image`,
      );
    }
    t.match((command ?? imageConfig({}).Entrypoint)?.[0], /^\/usr\/bin\/enactord?$/);
  }
  const added = containers.map(({ name, securityContext }) => [name, securityContext?.capabilities?.add]);
  t.strictSame(added, [
    ['enactord', ['NET_ADMIN']],
    ['install', ['SYS_CHROOT']],
  ]);
  t.notOk(pod?.hostPID);
});

test('manifest: probes ask what is served on the port that the daemon is told', async (t) => {
  for (const probe of [daemon?.startupProbe, daemon?.livenessProbe, daemon?.readinessProbe]) {
    t.ok(['/livez', '/readyz'].includes(probe?.httpGet?.path ?? ''));
    t.equal(probe?.httpGet?.port, 'metrics');
  }
  const port = daemon?.ports?.find(({ name }) => name === 'metrics')?.containerPort;
  t.ok(daemon?.args?.includes(`--metrics-listen=$(HOST_IP):${port}`));
});

for (const overlay of readdirSync('deploy/overlays'))
  test(`manifest: the overlay ${overlay} names what is there, and a configuration that the daemon takes`, async (t) => {
    const folder = join('deploy/overlays', overlay);
    const text = readFileSync(join(folder, 'kustomization.yaml'), 'utf8');
    const { resources } = load(text) as { readonly resources: readonly string[] };
    const commented = [...text.matchAll(/^# {3}- (\S+)$/gm)].flatMap(([, path]) => path ?? []);
    for (const path of [...resources, ...commented]) t.ok(existsSync(join(folder, path)), path);
    const [map] = loadAllYaml(readFileSync(join(folder, 'config.yaml'), 'utf8')) as readonly V1ConfigMap[];
    t.equal(map?.metadata?.name, pod?.volumes?.find(({ name }) => name === 'config')?.configMap?.name);
    const modes = { 'eni-multi-ip': 'ENIMultiIP', 'vpc-eni': 'ENIOnly', 'vpc-ip': 'VPC', ipvlan: 'ENIMultiIP' };
    const config = parseConfig(map?.data?.eni_conf ?? '', 'n1');
    t.equal(config.daemonMode, modes[overlay as keyof typeof modes]);
    t.equal(config.ipvlan, overlay === 'ipvlan');
  });

test('manifest: nothing that is applied takes the place of what Terway has in the cluster, nor goes with it', async (t) => {
  for (const folder of FOLDERS)
    for (const { kind, metadata } of render(join('deploy', folder)))
      t.notOk(TERWAYS.includes(metadata.name), `${folder}: ${kind} ${metadata.name} is ours`);
});

test('manifest: each kustomization names only files that are there', async (t) => {
  const found = readdirSync('deploy', { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('kustomization.yaml'),
  );
  t.ok(found.length >= 6);
  for (const path of found) {
    const { resources = [], patches = [] } = load(readFileSync(join('deploy', path), 'utf8')) as {
      readonly resources?: readonly string[];
      readonly patches?: readonly { readonly path: string }[];
    };
    const named = [...resources, ...patches.map((patch) => patch.path)];
    t.ok(named.length > 0, path);
    for (const name of named) t.ok(existsSync(join('deploy', dirname(path), name)), `${path}: ${name}`);
  }
});
