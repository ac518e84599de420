/**
 * B41: the daemon was killed with pods on the node, and at its next start the API server, the cloud, the metadata service or all of them are
 * away. The socket answers, health says what is missing, nothing is given twice or freed wrongly, and it becomes whole without a restart.
 *
 * What is served meanwhile: without the API server everything but new pods, whose objects nobody can vouch for; without the cloud or the
 * metadata service nothing yet, every request is a try-again.
 */
import '../lab/in-box.ts';

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ask, call, machine } from '../daemon/machine.ts';
import { TcpDoor } from '../daemon/tcp-door.ts';

t.setTimeout(180_000);

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

  const outages: Readonly<Record<string, readonly (keyof typeof doors)[]>> = {
    'the API server': ['api'],
    'the cloud': ['cloud'],
    'the metadata service': ['metadata'],
    'all of them': ['api', 'cloud', 'metadata'],
  };
  let nth = 0;
  for (const [who, away] of Object.entries(outages)) {
    const [goes] = held.keys();
    if (goes === undefined) throw new Error('no pod is left');
    await daemon.kill();
    for (const name of away) doors[name].cut();
    daemon = here.start(flags);
    const recovers = !away.some((name) => name !== 'api');
    await daemon.until(async () => {
      const { status, body } = await ask(here.paths.debugSocket, 'GET', '/v1/health');
      return recovers ? status === 200 : status === 503 && /identify|recover/.test(text(body));
    });
    const health = await ask(here.paths.debugSocket, 'GET', '/v1/health');
    const missing = text(health.body);
    if (!recovers) t.match(missing, /identify: \S+/, `${who} away: health says what is missing`);
    nth += 1;
    here.addPod(`new-${nth}`);
    const add = await call(socket, 'AllocIP', `new-${nth}`);
    t.match(add, { status: 503, body: { code: 'unavailable' } }, `${who} away: an ADD of a new pod is a try-again`);
    const del = await call(socket, 'ReleaseIP', goes);
    t.equal(del.status, recovers ? 200 : 503, `${who} away: a DEL ${recovers ? 'succeeds' : 'is a try-again'}`);
    if (recovers) {
      const [, stays = ''] = held.keys();
      t.equal(text((await call(socket, 'AllocIP', stays)).body), held.get(stays), 'a pod that has its address gets it');
    }
    for (const name of away) doors[name].mend();
    await daemon.until(async () => (await call(socket, 'ReleaseIP', goes)).status === 200);
    held.delete(goes);
    await daemon.until(async () => (await call(socket, 'AllocIP', `new-${nth}`)).status === 200);
    held.set(`new-${nth}`, text((await call(socket, 'AllocIP', `new-${nth}`)).body));
    for (const [pod, body] of held) t.equal(text((await call(socket, 'GetIPInfo', pod)).body), body, `${who}: ${pod}`);
    const ips = (await daemon.report()).leases.map(({ grant }) => grant.address.ipv4);
    t.equal(new Set(ips).size, held.size, `${who}: as many addresses as pods`);
  }
});
