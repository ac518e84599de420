/** `@statelyai/inspect`'s own receiver beside a node that serves twenty pods, and XState's own inspection of the same node. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import t from 'tap';
import WebSocket from 'ws';
import { type AnyStateMachine, createMachine, type InspectionEvent } from 'xstate';
import { chartData, charts } from '../../actors/chart-data.ts';
import { pathOf } from '../../actors/observer.ts';
import { debugServer } from '../../src/adapters/http/debug-server.ts';
import { RELAY_QUEUE_BYTES, startStatelyRelay } from '../../src/inspect/stately-relay.ts';
import { atRest } from '../actors/at-rest.ts';
import { eventually, oneNode } from '../actors/one-node.ts';
import { shortDirectory } from '../adapters/http/short-directory.ts';

const PODS = 20;
const names = Array.from({ length: PODS }, (_, index) => `web-${index}`);

t.test(
  'stately: its WebSocket client gets every actor, event and snapshot of a node that serves 20 pods',
  async (t) => {
    /** What XState itself told of, from when the receiver was connected. */
    const truth: { type: string; path: string; what: string }[] = [];
    let listening = false;
    const lab = await oneNode({
      settings: { minIdle: 0, maxIdle: 2 },
      instanceType: 'ecs.g7.xlarge',
      inspect: (event) => listening && truth.push(...toldBy(event)),
    });
    t.teardown(() => lab.stop());
    const socketPath = `${shortDirectory(t)}/debug.socket`;
    const server = debugServer(() => lab.node.introspection);
    server.listen(socketPath);
    await once(server, 'listening');
    t.teardown(() => void server.close());
    await lab.serving();
    await atRest(lab);

    const relay = await startStatelyRelay({ socketPath, port: 0 });
    t.teardown(() => relay.close());
    const got: StatelyInspectionEvent[] = [];
    createWebSocketReceiver({ server: relay.socketUrl }).subscribe((event) => void got.push(event));
    const tree = () => lab.report().actors.map(({ path }) => path);
    const actors = () => got.filter(({ type }) => type === '@xstate.actor').map(({ sessionId }) => sessionId);
    await eventually('all that there are', () => tree().every((path) => actors().includes(path)));
    listening = true;
    const before = got.length;

    await Promise.all(names.map((name) => lab.add(name)));
    await eventually('twenty leases', () => lab.report().leases.length === PODS);
    await lab.del('web-7');
    await lab.add('web-7');
    const toldAll = () => got.length - before >= truth.length;
    await eventually('as much as XState told', toldAll);
    listening = false;

    const heard = got.slice(before, before + truth.length).map((event) => ({
      type: event.type,
      path: event.sessionId.replace(/~\d+$/, ''),
      what: whatOf(event),
    }));
    t.ok(truth.length > 20 * PODS, `${truth.length} in all`);
    t.strictSame(heard, truth, 'one for one, and in the order in which they happened');
    for (const type of ['@xstate.actor', '@xstate.event', '@xstate.snapshot'])
      t.ok(heard.filter((one) => one.type === type).length > PODS, type);

    t.test('what a receiver makes of it', async (t) => {
      const leases = got.filter((one) => one.type === '@xstate.actor' && one.name.startsWith('lease:c-web-'));
      t.equal(leases.length, PODS + 1);
      t.ok(
        leases.some((one) => one.sessionId === 'node/leases/lease:c-web-7/eth0~2'),
        'one that came again is another one',
      );
      t.match(leases[0], {
        rootId: 'node',
        parentId: 'node/leases',
        name: /^lease:c-web-\d+\/eth0$/,
        snapshot: { status: 'active' },
      });
      const chart = createMachine(JSON.parse((leases[0] as { definition: string }).definition)) as AnyStateMachine;
      t.strictSame(chartData(chart).states, charts().find(({ id }) => id === 'lease')?.states);
      const bound = got.find(
        (one) =>
          one.type === '@xstate.snapshot' &&
          one.sessionId === 'node/leases/lease:c-web-7/eth0' &&
          (one.snapshot as { value?: unknown }).value === 'bound',
      );
      t.match(bound, {
        event: { type: /^xstate\.done\.actor\..*persisting$/, output: Object },
        snapshot: { status: 'active', context: { sandbox: { pod: { name: 'web-7' } } } },
      });
      const opening = got.find(
        (one) => one.type === '@xstate.snapshot' && one.sessionId === 'node/leases/lease:c-web-7/eth0',
      );
      t.match(opening, { snapshot: { value: { opening: 'allocating' } } });
      const sent = got.find((one) => one.type === '@xstate.event' && one.event.type === 'assign');
      t.match(sent, { sourceId: 'node/eniFactory', sessionId: /^node\/eniFactory\/eni:\d$/ });
      t.ok(got.every((one) => typeof one._version === 'string' && Number(one.createdAt) > 1.6e12));
    });

    t.test('the command prints the address, serves a receiver there, and ends when it is told to', async (t) => {
      const args = ['dist/enactor.js', 'inspect', '--stately', '--debug-socket', socketPath];
      const command = spawn('env', ['-i', `PATH=${process.env.PATH}`, process.execPath, ...args]);
      t.teardown(() => void command.kill('SIGKILL'));
      let printed = '';
      command.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
      await eventually('it is there', () => /^http:.*\nfor create\S+ .*ws:\S+\n/.test(printed), 30_000);
      const [url = ''] = /ws:\S+/.exec(printed) ?? [];
      const heard: StatelyInspectionEvent[] = [];
      createWebSocketReceiver({ server: url }).subscribe((event) => void heard.push(event));
      await eventually('all actors', () => tree().every((path) => heard.some(({ sessionId }) => sessionId === path)));
      const taken = spawn('env', [
        '-i',
        `PATH=${process.env.PATH}`,
        process.execPath,
        ...args,
        '--port',
        new URL(url).port,
      ]);
      const [why] = await once(taken.stderr, 'data');
      t.match(String(why), /EADDRINUSE/);
      command.kill('SIGINT');
      const [code] = await once(command, 'close');
      t.equal(code, 130);
    });

    t.test('who may not read: another page, another name, another address; and nobody is watched for', async (t) => {
      const code = async (url: string, options: WebSocket.ClientOptions = {}) => {
        const socket = new WebSocket(url, options);
        socket.on('error', () => {});
        const SWITCHING = 101;
        const [, response] = await Promise.race([
          once(socket, 'unexpected-response'),
          once(socket, 'open').then(() => [null, { statusCode: SWITCHING }]),
        ]);
        socket.terminate();
        return (response as { statusCode: number }).statusCode;
      };
      t.equal(await code(relay.socketUrl, { origin: 'https://example.com' }), 404);
      t.equal(await code(relay.socketUrl, { headers: { host: 'enactor.example' } }), 404);
      t.equal(await code(relay.socketUrl.replace(/[^/]*$/, 'x'.repeat(32))), 404);
      t.equal((await fetch(relay.pageUrl.replace(/[^/]*$/, ''))).status, 404);
      const page = await fetch(relay.pageUrl);
      t.match(page.headers.get('content-security-policy'), /frame-src https:\/\/stately\.ai;/);
      t.match(await page.text(), /<iframe[^>]*stately\.ai\/inspect/);
      const own = new WebSocket(relay.socketUrl, { origin: new URL(relay.pageUrl).origin });
      await once(own, 'open');
      t.equal(relay.readers(), 2, 'its own page may');
      own.close();
      await eventually('it has left', () => relay.readers() === 1);
    });
  },
);

t.test('stately: a reader that reads nothing is cut off at its bound, and one that reads goes on', async (t) => {
  const socketPath = `${shortDirectory(t)}/debug.socket`;
  const line = JSON.stringify({
    kind: 'actor',
    seq: 1,
    atMs: 1,
    actor: 'node',
    chart: 'node',
    state: 'x',
    context: 'x'.repeat(100_000),
  });
  const streams = new Set<ServerResponse>();
  const daemon = createServer(({ url = '' }, response) => {
    response.setHeader('enactor-debug-version', 1);
    if (!url.startsWith('/v1/streams')) return void response.end(JSON.stringify({ items: charts(), next: null }));
    streams.add(response);
    response.once('close', () => streams.delete(response));
    response.write('\n');
  });
  daemon.listen(socketPath);
  await once(daemon, 'listening');
  const told: string[] = [];
  const relay = await startStatelyRelay({ socketPath, port: 0, onEnd: (why) => void told.push(why) });
  t.teardown(() => {
    relay.close();
    daemon.close();
    daemon.closeAllConnections();
  });
  let read = 0;
  const [reads, frozen] = [new WebSocket(relay.socketUrl), new WebSocket(relay.socketUrl)];
  await Promise.all([once(reads, 'open'), once(frozen, 'open')]);
  reads.on('message', () => {
    read += 1;
  });
  frozen.on('error', () => {});
  frozen.pause();
  await eventually('both are served', () => streams.size === 2);
  let written = 0;
  while (streams.size === 2 && written < 1_000) {
    for (const stream of streams) stream.write(`${line}\n`);
    written += 1;
    await eventually('one reads', () => read >= written - 1);
  }
  t.equal(streams.size, 1, 'its stream of the node is ended');
  t.strictSame(told, ['a reader did not take what it was sent: cut off']);
  t.ok(written * line.length > RELAY_QUEUE_BYTES, 'not before');
  await eventually('one reads all', () => read === written);
  t.equal(relay.readers(), 1);
  frozen.terminate();
  for (const stream of streams) stream.end();
  const [code] = await once(reads, 'close');
  t.equal(code, 1011, 'and hears that the daemon is gone');
});

function toldBy(event: InspectionEvent): { type: string; path: string; what: string }[] {
  const path = pathOf(event.actorRef as Parameters<typeof pathOf>[0]);
  if (event.type === '@xstate.actor') return [{ type: event.type, path, what: '' }];
  if (event.type === '@xstate.event') return [{ type: event.type, path, what: event.event.type }];
  if (event.type !== '@xstate.snapshot') return [];
  return [{ type: event.type, path, what: `${event.event.type} ${event.snapshot.status}` }];
}

function whatOf(event: StatelyInspectionEvent): string {
  if (event.type === '@xstate.event') return event.event.type;
  return event.type === '@xstate.snapshot' ? `${event.event.type} ${event.snapshot.status}` : '';
}
