/**
 * B41: the daemon was killed with pods on the node, and at its next start the API server, the cloud, the metadata service or all of them are
 * away. The socket answers, health says what is missing, nothing is given twice or freed wrongly, and it becomes whole without a restart.
 *
 * What is served meanwhile: without the API server everything but new pods, whose objects nobody can vouch for; without the cloud or the
 * metadata service what is on disk, and new pods as far as addresses are free for sure; what is more than that is a try-again.
 */
import '../lab/in-box.ts';

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { ask, call, machine } from '../daemon/machine.ts';
import { TcpDoor } from '../daemon/tcp-door.ts';

t.setTimeout(180_000);

/** Between two tries whether the watch has told of a pod: it needs the way to the API server for that. */
const WATCH_MS = 300;

const config = { cool_down: '0s', max_pool_size: 4, backoff: '100ms', backoff_max: '500ms', call_timeout: '1s' };
const PODS = Array.from({ length: 8 }, (_, index) => `p${index}`);

t.test('B41: whoever is away at start, nobody gets an address twice, and service resumes by itself', async (t) => {
  const here = await machine(t, config);
  const [api, cloud, metadata] = await Promise.all([here.api.url, here.cloud.url, here.cloud.url].map(TcpDoor.to));
  if (api === undefined || cloud === undefined || metadata === undefined) throw new Error('no doors');
  const doors = { api, cloud, metadata };
  t.teardown(() => Promise.all(Object.values(doors).map((door) => door.close())));
  const kubeconfig = join(here.dir, 'kubeconfig');
  writeFileSync(
    kubeconfig,
    readFileSync(kubeconfig, 'utf8').replaceAll(new URL(here.api.url).host, `127.0.0.1:${api.port}`),
  );
  const flags = { cloudUrl: `http://127.0.0.1:${cloud.port}`, metadataUrl: `http://127.0.0.1:${metadata.port}` };
  const socket = here.paths.jsonSocket;
  for (const pod of PODS) here.addPod(pod);
  let daemon = here.start(flags);
  await daemon.serving();
  const held = new Map<string, string>();
  const text = (body: unknown): string => JSON.stringify(body);
  for (const pod of PODS) held.set(pod, text((await call(socket, 'AllocIP', pod)).body));

  // An orderly end leaves on disk what there was; the lives after it are killed.
  await daemon.stop();
  daemon = here.start(flags);
  await daemon.serving();

  // A pod that the watch has told of needs no API server, and none over a restart.
  const uid = here.addPod('seen');
  const seen = () => call(socket, 'AllocIP', 'seen', { PodUid: uid });
  await daemon.until(async () => {
    await sleep(WATCH_MS);
    doors.api.cut();
    if ((await seen()).status === 200) return true;
    doors.api.mend();
    return false;
  });
  t.equal((await call(socket, 'ReleaseIP', 'seen')).status, 200);
  doors.api.mend();

  const outages: Readonly<Record<string, readonly (keyof typeof doors)[]>> = {
    'the API server': ['api'],
    'the cloud': ['cloud'],
    'the metadata service': ['metadata'],
    'all of them': ['api', 'cloud', 'metadata'],
  };
  let nth = 0;
  for (const [who, away] of Object.entries(outages)) {
    const [goes, stays = ''] = held.keys();
    if (goes === undefined) throw new Error('no pod is left');
    await daemon.kill();
    for (const name of away) doors[name].cut();
    daemon = here.start(flags);
    const whole = !away.some((name) => name !== 'api');
    const vouched = !away.includes('api');
    await daemon.until(async () => {
      const { status, body } = await ask(here.paths.debugSocket, 'GET', '/v1/health');
      return whole ? status === 200 : status === 503 && /running.degraded.*identify: /.test(text(body));
    });
    const health = await ask(here.paths.debugSocket, 'GET', '/v1/health');
    if (!whole) t.match(text(health.body), /identify: \S+/, `${who} away: health says what is missing`);
    const del = await call(socket, 'ReleaseIP', goes);
    t.equal(del.status, 200, `${who} away: a DEL succeeds`);
    held.delete(goes);
    t.equal(
      text((await call(socket, 'AllocIP', stays)).body),
      held.get(stays),
      `${who} away: who has its address gets it`,
    );
    if (!vouched && whole) {
      t.equal((await seen()).status, 200, `${who} away: a pod that was known before gets its address`);
      t.equal((await call(socket, 'ReleaseIP', 'seen')).status, 200);
    }
    nth += 1;
    const fresh = `new-${nth}`;
    here.addPod(fresh);
    const add = await call(socket, 'AllocIP', fresh);
    if (vouched) {
      t.equal(add.status, 200, `${who} away: a new pod gets an address that is free for sure`);
      held.set(fresh, text(add.body));
    } else
      t.match(add, { status: 503, body: { code: 'unavailable' } }, `${who} away: an ADD of a new pod is a try-again`);
    if (!whole && vouched) {
      // Until nothing is left that is free for sure.
      let refusal: unknown = null;
      for (let more = 0; refusal === null && more < 12; more += 1) {
        here.addPod(`${fresh}-${more}`);
        const { status, body } = await call(socket, 'AllocIP', `${fresh}-${more}`);
        if (status === 200) held.set(`${fresh}-${more}`, text(body));
        else refusal = body;
      }
      t.match(
        refusal,
        { code: 'unavailable', message: /free for sure.*degraded: identify: / },
        'and the rest is told why not',
      );
    }
    for (const name of away) doors[name].mend();
    await daemon.serving();
    await daemon.until(async () => (await call(socket, 'AllocIP', fresh)).status === 200);
    held.set(fresh, text((await call(socket, 'AllocIP', fresh)).body));
    for (const [pod, body] of held) t.equal(text((await call(socket, 'GetIPInfo', pod)).body), body, `${who}: ${pod}`);
    const report = await daemon.report();
    const ips = report.leases.map(({ grant }) => grant.address.ipv4);
    t.equal(new Set(ips).size, held.size, `${who}: as many addresses as pods`);
    t.same(report.invalidLeases, [], `${who}: all of them there`);
    // Back to as many pods as there were.
    for (const pod of [...held.keys()].filter((name) => name.startsWith(`${fresh}-`))) {
      t.equal((await call(socket, 'ReleaseIP', pod)).status, 200);
      held.delete(pod);
    }
  }
});
