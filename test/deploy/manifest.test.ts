/** What is shipped must fit together: names and paths occur in the manifest, the conflist and the programs. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadAllYaml, type V1ConfigMap, type V1DaemonSet } from '@kubernetes/client-node';
import { test } from 'tap';

const objects = loadAllYaml(readFileSync('deploy/enactor.yaml', 'utf8')) as { kind: string }[];
const conflist = JSON.parse(readFileSync('deploy/10-enactor.conflist', 'utf8'));
const byKind = (kind: string) => objects.filter((each) => each.kind === kind);
const daemonSet = byKind('DaemonSet')[0] as V1DaemonSet;
const pod = daemonSet.spec?.template.spec;
const daemon = pod?.containers[0];

test('manifest: every mount has a volume, and each volume is mounted', async (t) => {
  const volumes = pod?.volumes?.map((volume) => volume.name).sort();
  const containers = [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])];
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
    if (mount && volume.hostPath) t.equal(mount.mountPath, volume.hostPath.path, 'one path inside and outside');
  }
});

test('manifest: the daemon knows each flag it is given', async (t) => {
  const help = execFileSync('node', ['dist/enactord.js', '--help'], { encoding: 'utf8', timeout: 30_000 });
  const flags = daemon?.args?.map((argument) => argument.split('=')[0]) ?? [];
  t.ok(flags.length > 0);
  for (const flag of flags) t.match(help, new RegExp(`${flag}\\b`));
});

test('manifest: the example config is JSON with the keys a node needs', async (t) => {
  const config = byKind('ConfigMap')[0] as V1ConfigMap;
  const parsed = JSON.parse(config.data?.eni_conf ?? '');
  t.ok(parsed.cluster_id && parsed.vswitches && parsed.security_groups);
  t.ok(parsed.min_pool_size <= parsed.max_pool_size);
});
