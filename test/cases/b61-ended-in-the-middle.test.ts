/**
 * B61: the daemon is told to end with ADDs under way and an idle connection open. It ends within its limit, what was answered is on disk,
 * what was not is a try-again and costs no address, and the next start is immediate.
 */
import '../lab/in-box.ts';

import { existsSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import t from 'tap';
import { call, machine } from '../daemon/machine.ts';

t.setTimeout(120_000);

const PODS = Array.from({ length: 10 }, (_, index) => `p${index}`);
const DRAIN_MS = 10_000;
/** The daemon drains for ten seconds at most; a busy machine is given as much again. */
const LIMIT_MS = 20_000;

for (const [how, delayMs] of [
  ['the calls that they wait for come back in time', 1_000],
  ['the calls that they wait for come back too late', 15_000],
] as const) {
  // The drain is ten seconds of real time, so CI leaves the case that uses them all to `npm run soak`.
  if (delayMs > DRAIN_MS && process.env.ENACTOR_SPEED !== '1') continue;
  t.test(`B61: SIGTERM twice with ten ADDs under way: ${how}`, async (t) => {
    const here = await machine(t, { cool_down: '0s', max_pool_size: 0 });
    for (const pod of PODS) here.addPod(pod);
    const socket = here.paths.jsonSocket;
    const daemon = here.start();
    await daemon.serving();
    const planted = await fetch(`${here.cloud.adminUrl}/faults`, {
      method: 'POST',
      body: JSON.stringify([{ api: 'AttachNetworkInterface', effect: 'delay', ms: delayMs, times: 1 }]),
    });
    t.equal(planted.status, 200, await planted.text());
    const idle = connect(socket);
    idle.on('error', () => {});
    // Who looks on and has stopped reading, as a terminal that was suspended.
    const frozen = request({ socketPath: here.paths.debugSocket, path: '/v1/streams/inspection' });
    frozen.on('error', () => {});
    const watched = await new Promise<IncomingMessage>((resolve) => frozen.on('response', resolve).end());
    watched.pause();
    watched.on('error', () => {});
    t.equal(watched.statusCode, 200);
    const adds = PODS.map((pod) =>
      call(socket, 'AllocIP', pod).catch((error: Error) => ({ status: 0, body: error.message })),
    );
    const underWay = async () => (await daemon.report()).actors.filter(({ path }) => path.includes('lease:')).length;
    await daemon.until(async () => (await underWay()) === PODS.length);
    const startMs = performance.now();
    const ending = daemon.stop();
    void daemon.stop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const late = await call(socket, 'AllocIP', 'p0').then(
      ({ status }) => status,
      () => 0,
    );
    t.ok(late === 0 || late === 503, 'nobody new is let in');
    t.strictSame(await ending, { code: 0, signal: null });
    t.ok(performance.now() - startMs < LIMIT_MS, 'within its limit');
    idle.destroy();
    frozen.destroy();
    const answers = await Promise.all(adds);
    for (const { status, body } of answers)
      t.ok(status === 200 || status === 503, `answered or a try-again: ${JSON.stringify(body)}`);
    t.notOk(existsSync(socket), 'the socket file is gone');
    t.match(daemon.log, /daemon stopped/, 'the last line is there');

    await fetch(`${here.cloud.adminUrl}/faults`, { method: 'DELETE' });
    const next = here.start();
    await next.serving();
    for (const [index, { status, body }] of answers.entries())
      if (status === 200)
        t.strictSame(
          (await call(socket, 'GetIPInfo', PODS[index] ?? '')).body,
          body,
          `${PODS[index]} has what it was told`,
        );
    for (const pod of PODS) await next.until(async () => (await call(socket, 'AllocIP', pod)).status === 200);
    const { leases } = await next.report();
    t.equal(new Set(leases.map(({ grant }) => grant.address.ipv4)).size, PODS.length, 'all ten run, no address twice');
    for (const pod of PODS) await call(socket, 'ReleaseIP', pod);
    t.strictSame(await next.stop('SIGINT'), { code: 0, signal: null });
  });
}

t.test(
  'B61: SIGTERM during the start, and SIGINT: an end like any other, and the next start is immediate',
  async (t) => {
    const here = await machine(t, { max_pool_size: 0 });
    here.addPod('p');
    const away = { cloudUrl: 'http://127.0.0.1:1', metadataUrl: 'http://127.0.0.1:1' };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const starting = here.start(away);
      await starting.until(async () => existsSync(here.paths.debugSocket));
      t.strictSame(await starting.stop(signal), { code: 0, signal: null }, signal);
      t.notOk(existsSync(here.paths.jsonSocket), 'no socket is left');
      t.match(starting.log, /daemon stopped/);
    }
    const next = here.start();
    await next.serving();
    t.equal((await call(here.paths.jsonSocket, 'AllocIP', 'p')).status, 200, 'database and lock are free');
  },
);
