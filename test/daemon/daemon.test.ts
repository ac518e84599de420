import '../lab/in-box.ts';

import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { isCompiledName } from '../../src/daemon/compiled-code.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { writeDeletionNote } from '../../src/plugin/deletion-notes.ts';
import { call, machine } from './machine.ts';

/** A pattern of `t.match` without elements fits every list. */
const confsIn = ({ body }: { readonly body: unknown }): unknown => (body as { NetConfs?: unknown }).NetConfs;

t.test('daemon: a pod gets its address, keeps it through kill -9, and gives it back', async (t) => {
  const here = await machine(t, { cool_down: '0s' });
  here.addPod('p');
  const first = here.start();
  await first.serving();
  const conflist = join(here.dir, 'cni', '10-enactor.conflist');
  await first.until(async () => existsSync(conflist));
  t.match(JSON.parse(readFileSync(conflist, 'utf8')), {
    plugins: [{ daemonSocket: here.paths.jsonSocket, dataDir: here.paths.dataDir, mtu: 1500 }],
  });

  const granted = await call(here.paths.jsonSocket, 'AllocIP', 'p');
  t.match(granted, {
    status: 200,
    body: {
      Success: true,
      IPType: 2,
      NetConfs: [{ BasicInfo: { PodIP: { IPv4: /^192\.168\.0\./ } }, ENIInfo: { DeviceName: /^eni/, Mtu: 1500 } }],
    },
  });
  t.match(await call(here.paths.jsonSocket, 'AllocIP', 'nobody'), { status: 404, body: { message: /does not exist/ } });
  t.match(await first.report(), { refusals: [{ pod: 'default/nobody', times: 1, code: 'podUnknown' }] });
  await first.kill();

  const second = here.start();
  await second.serving();
  t.strictSame(await call(here.paths.jsonSocket, 'GetIPInfo', 'p'), granted, 'the lease outlived the process');
  t.strictSame(await call(here.paths.jsonSocket, 'AllocIP', 'p'), granted, 'the same sandbox, the same answer');
  t.match(await call(here.paths.jsonSocket, 'ReleaseIP', 'p'), { status: 200, body: { NetConfs: [{}] } });
  t.strictSame(confsIn(await call(here.paths.jsonSocket, 'ReleaseIP', 'p')), []);

  t.strictSame(await second.stop(), { code: 0, signal: null });
  for (const path of [here.paths.jsonSocket, here.paths.grpcSocket, here.paths.debugSocket]) t.notOk(existsSync(path));
  t.ok(existsSync(conflist), 'kubelet keeps calling the plugin');
  t.notMatch(second.log, /lab-access-key-secret/);
  t.comment(
    second.log
      .split('\n')
      .filter((line) => /daemon started|node serving/.test(line))
      .join('\n'),
  );
});

t.test('daemon: a deletion noted while it was away is carried out when it is back', async (t) => {
  const here = await machine(t);
  here.addPod('p');
  const first = here.start();
  await first.serving();
  t.match(await call(here.paths.jsonSocket, 'AllocIP', 'p'), { status: 200 });
  await first.stop();
  const compiled = readdirSync(here.paths.dataDir).filter(isCompiledName);
  t.equal(compiled.length, 1, 'one that is told to end leaves what it has compiled to the next');
  const pod = { namespace: 'default', name: 'p', uid: null };
  const sandbox = { containerId: 'sandbox-p', ifName: 'eth0', netns: '', network: 'enactor', pod };
  writeDeletionNote(here.paths.dataDir, sandbox, Date.now());
  const second = here.start();
  await second.serving();
  await second.until(async () => readdirSync(join(here.paths.dataDir, 'pending-deletes')).length === 0);
  t.strictSame(confsIn(await call(here.paths.jsonSocket, 'GetIPInfo', 'p')), []);
});

t.test('daemon: in a large cluster it asks how many nodes want addresses before it makes any', async (t) => {
  const here = await machine(t);
  const { lifecycle, admin } = here.api;
  const [nodes, sets] = [resourceNamed('nodes'), resourceNamed('replicasets')];
  if (nodes === null || sets === null) throw new Error('no such resource');
  // Whose Creates, two each, are more than a minute of the account has.
  for (let nth = 0; nth < 200; nth += 1) lifecycle.create(nodes, null, { metadata: { name: `other-${nth}` } });
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const set = lifecycle.create(sets, 'default', { metadata: { name: 'web' }, spec });
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: set.metadata.uid, controller: true };
  here.addPod('p', { ownerReferences: [owner] });
  const daemon = here.start();
  await daemon.serving();
  await daemon.until(async () => existsSync(join(here.paths.dataDir, 'fleet.json')));
  t.match(await call(here.paths.jsonSocket, 'AllocIP', 'p'), { status: 200 });
  const asked = admin.ledger.filter(({ verb, resource }) => verb === 'get' && resource === 'replicasets');
  t.ok(asked.length >= 1 && asked.length <= 2, `asked ${asked.length} times`);
});

t.test('daemon: callers wait for nobody while it starts, and a call under way is answered when it stops', async (t) => {
  const here = await machine(t);
  here.addPod('p');
  const daemon = here.start();
  await daemon.serving();
  const settings = { delays: { ...here.cloud.model.settings.delays, attachingMs: 600_000 } };
  here.cloud.model.settings = { ...here.cloud.model.settings, ...settings };
  const waiting = call(here.paths.jsonSocket, 'AllocIP', 'p');
  await daemon.until(async () => (await daemon.report()).enis.some(({ state }) => state.startsWith('attaching')));
  const stopped = daemon.stop();
  t.match(await waiting, { status: 503, body: { code: 'unavailable' } });
  t.strictSame(await stopped, { code: 0, signal: null });
});

t.test('daemon: it ends when something else is in the place of its socket', async (t) => {
  const here = await machine(t);
  const daemon = here.start();
  await daemon.serving();
  const beside = `${here.paths.jsonSocket}.new`;
  writeFileSync(beside, 'precious');
  renameSync(beside, here.paths.jsonSocket);
  t.strictSame(await daemon.ended, { code: 70, signal: null });
  t.match(daemon.log, /socket .*j\.sock was taken away/);
  t.equal(readFileSync(here.paths.jsonSocket, 'utf8'), 'precious');
});
