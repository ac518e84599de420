/**
 * The runtime harness by itself, with the reference `ptp` plugin: what it shows of containerd does not depend on Enactor, so
 * that a failure in pods-over-cri.test.ts points at Enactor.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'tap';
import { makeBareNetns } from './bare-netns.ts';
import { BUSYBOX_IMAGE, WEB_COMMAND } from './busybox-image.ts';
import { DEBIAN_CNI_FOLDER, linkPlugins, missingForContainerd, startContainerd } from './containerd.ts';
import { leftBehind } from './left-behind.ts';
import { sourceSeenBy } from './web-probe.ts';

const missing = missingForContainerd();
const skip = missing.length > 0 && `containerd cannot run here: ${missing.join(', ')}`;

const conflist = (dataDir: string) => ({
  cniVersion: '1.0.0',
  name: 'reference',
  plugins: [{ type: 'ptp', ipam: { type: 'host-local', subnet: '10.244.9.0/24', dataDir } }],
});

test('containerd: pods of a runtime in a namespace of its own reach each other and leave nothing behind', {
  skip,
}, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'enactor-cri-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const netns = await makeBareNetns();
  t.teardown(() => netns.remove());
  const place = {
    netns: netns.path,
    runDir: `${folder}/run`,
    cniBinDir: `${folder}/bin`,
    cniConfDir: `${folder}/conf`,
  };
  await linkPlugins(
    place.cniBinDir,
    ['loopback', 'ptp', 'host-local'].map((name) => join(DEBIAN_CNI_FOLDER, name)),
  );

  const containerd = await startContainerd(place);
  t.teardown(async () => {
    if (!t.passing()) t.comment(await containerd.logTail());
    await containerd.stop();
  });
  const { cri } = containerd;

  t.match(await cri.version(), /^containerd /);
  t.equal((await cri.conditions()).get('NetworkReady'), false, 'without a CNI config the network is not ready');
  await writeFile(`${place.cniConfDir}/10-reference.conflist`, JSON.stringify(conflist(`${folder}/ipam`)));
  await containerd.whenNetworkReady();

  const pods = [];
  for (const name of ['one', 'two']) {
    const sandbox = await cri.runPodSandbox({ namespace: 'default', name, uid: `uid-${name}` });
    const { ip, state } = await cri.sandboxStatus(sandbox);
    t.equal(state, 'SANDBOX_READY');
    t.match(ip, /^10\.244\.9\.\d+$/);
    const container = await cri.runContainer(sandbox, 'web', BUSYBOX_IMAGE, WEB_COMMAND);
    pods.push({ sandbox, ip, container });
  }
  const [one, two] = pods;
  if (!one || !two) throw new Error('two pods were made');
  t.not(one.ip, two.ip);

  t.equal(await sourceSeenBy(cri, one.container, two.ip), one.ip, 'the far end saw the pod’s own address');
  t.equal((await cri.exec(one.container, ['sh', '-c', 'exit 7'])).exitCode, 7, 'an exit code comes through');

  await cri.stopPodSandbox(one.sandbox);
  t.equal((await cri.sandboxStatus(one.sandbox)).state, 'SANDBOX_NOTREADY');
  const held = await readdir(`${folder}/ipam/reference`);
  t.notOk(held.includes(one.ip), 'DEL gave the address back');
  t.ok(held.includes(two.ip), 'the other pod still holds its own');
  await cri.removePodSandbox(one.sandbox);
  t.same(await cri.listSandboxIds(), [two.sandbox]);

  // Stopped with a pod still running, as after a failed assertion.
  await containerd.stop();
  t.same(
    (await readdir(`${folder}/ipam/reference`)).filter((name) => name.startsWith('10.')),
    [],
  );
  t.same(await leftBehind(folder), { processes: [], mounts: [], cgroups: [] });
  t.notOk(existsSync(place.runDir));
});

test('containerd: one that cannot start says why and leaves nothing', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'enactor-cri-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const place = { netns: `${folder}/none`, runDir: `${folder}/run`, cniBinDir: folder, cniConfDir: `${folder}/conf` };
  await t.rejects(startContainerd(place), /ended with 1[\s\S]*\/none/);
  t.notOk(existsSync(place.runDir));
  t.same(await leftBehind(folder), { processes: [], mounts: [], cgroups: [] });
  t.notMatch(await readFile('/proc/self/mounts', 'utf8'), folder);
});
