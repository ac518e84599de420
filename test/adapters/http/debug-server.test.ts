import { get, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type DebugOptions, debugServer } from '../../../src/adapters/http/debug-server.ts';
import { bindUnixSocket } from '../../../src/adapters/http/unix-socket.ts';
import { LogTap } from '../../../src/adapters/logging/log-tap.ts';
import { silentLog } from '../../../src/adapters/logging/silent-log.ts';
import type { Input } from '../../../src/core/input-journal.ts';
import { defaultSettings } from '../../../src/core/settings.ts';
import type { Inspected } from '../../../src/ports/inspected.ts';
import type { ActorDetail, Introspection, NodeReport } from '../../../src/ports/introspection.ts';
import { shortDirectory } from './short-directory.ts';

function read(socketPath: string, path: string): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    get({ socketPath, path, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += String(chunk);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    }).on('error', reject);
  });
}

const detail = (path: string): ActorDetail => ({
  ...{ path, chart: 'node', status: 'active', state: 'serving', sinceMs: 0, tags: [], accepts: [], children: [] },
});

const introspection = (report: NodeReport, more: Partial<Introspection> = {}): Introspection => ({
  report: () => report,
  actor: (path) => (path === 'node/leases/lease:c1/eth0' ? detail(path) : null),
  charts: () => [],
  life: () => ({ startMs: 0, seqBefore: 0, settings: { ...defaultSettings, nodeName: 'n' } }),
  why: (pod) => ({
    ...{ pod, verdict: 'unknown', answer: 'nobody has asked', leases: [], decisions: [], stages: [], requests: [] },
    ...{ considered: [], underWay: [], nextTryMs: null, refusal: null },
  }),
  watch: () => () => {},
  command: () => {},
  ...more,
  journal: ({ since, limit }) => {
    const inputs = [1, 2, 3]
      .filter((seq) => seq > since)
      .slice(0, limit)
      .map((seq): Input => ({ seq, atMs: 0, actor: 'node', event: { type: 'stop', atMs: 0 } }));
    return { inputs, next: inputs.at(-1)?.seq ?? since, lastSeq: 3, firstSeq: 1, unwritten: 0 };
  },
});

t.test('debug: health names what is missing, the report is the actors’ own', async (t) => {
  const path = join(shortDirectory(t), 's');
  let report: NodeReport | null = null;
  const bound = await bindUnixSocket(
    debugServer(() => (report === null ? null : introspection(report))),
    path,
  );
  t.teardown(() => bound.close());
  t.strictSame(await read(path, '/v1/health'), { status: 503, body: { state: 'starting', missing: ['actors'] } });
  t.match(await read(path, '/v1/report'), { status: 503 });
  report = { state: 'recovering', missing: ['metadata'], enis: [], pool: null, leases: [], waiting: [], actors: [] };
  t.strictSame(await read(path, '/v1/health'), { status: 503, body: { state: 'recovering', missing: ['metadata'] } });
  report = { ...report, state: 'running.serving', missing: [] };
  t.strictSame(await read(path, '/v1/health'), { status: 200, body: { state: 'running.serving' } });
  t.strictSame(await read(path, '/v1/report'), { status: 200, body: report });
  t.match(await read(path, '/v1/else'), { status: 404 });
});

t.test('debug: the journal is read in pages, and what cannot be asked is refused', async (t) => {
  const path = join(shortDirectory(t), 's');
  let source: Introspection | null = null;
  const bound = await bindUnixSocket(
    debugServer(() => source),
    path,
  );
  t.teardown(() => bound.close());
  t.match(await read(path, '/v1/journal'), { status: 503 });
  source = introspection({ state: 's', missing: [], enis: [], pool: null, leases: [], waiting: [], actors: [] });
  t.match(await read(path, '/v1/journal?limit=2'), {
    status: 200,
    body: { inputs: [{ seq: 1 }, { seq: 2 }], next: 2 },
  });
  t.match(await read(path, '/v1/journal?since=2'), {
    status: 200,
    body: { inputs: [{ seq: 3 }], next: 3, lastSeq: 3 },
  });
  t.match(await read(path, '/v1/journal?since=3'), { status: 200, body: { inputs: [], next: 3 } });
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'since=-1', 'since=1.5', 'limit=1e99'])
    t.match(await read(path, `/v1/journal?${query}`), { status: 400 }, query);
});

const empty: NodeReport = {
  state: 'running.serving',
  missing: [],
  enis: [],
  pool: null,
  leases: [],
  waiting: [],
  actors: [],
};

async function bound(t: Test, source: Introspection | null, options: DebugOptions = {}): Promise<string> {
  const path = join(shortDirectory(t), 's');
  const server = debugServer(() => source, options);
  const socket = await bindUnixSocket(server, path);
  t.teardown(() => {
    socket.close();
    server.closeAllConnections();
  });
  return path;
}

function post(socketPath: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, method: 'POST', agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    call.on('error', reject);
    call.end();
  });
}

t.test('debug: lists are read in pages, whatever order they come in', async (t) => {
  const actors = ['node/b', 'node', 'node/a'].map((path) => ({ path, chart: 'node', state: 's', sinceMs: 0 }));
  const path = await bound(t, introspection({ ...empty, actors }));
  const pathsOf = ({ body }: { body: unknown }) => (body as { items: { path: string }[] }).items.map((one) => one.path);
  const first = await read(path, '/v1/actors?limit=2');
  t.strictSame(
    [pathsOf(first), first.body],
    [['node', 'node/a'], { ...(first.body as object), next: 'node/a', total: 3 }],
  );
  const last = await read(path, '/v1/actors?limit=2&after=node/a');
  t.strictSame(pathsOf(last), ['node/b']);
  t.match(last.body, { next: null, total: 3 });
  for (const query of ['limit=0', 'limit=1001', 'limit=x'])
    t.match(await read(path, `/v1/actors?${query}`), { status: 400 });
});

t.test('debug: one actor is found by its path, and what is not there is told', async (t) => {
  const path = await bound(t, introspection(empty));
  t.match(await read(path, '/v1/actors/node/leases/lease:c1%2Feth0'), { status: 200, body: { state: 'serving' } });
  t.match(await read(path, '/v1/actors/node/leases/lease:c2'), {
    status: 404,
    body: { error: /no actor node\/leases/ },
  });
  t.match(await read(path, '/v1/actors/%E0%A4%A'), { status: 400 });
  t.match(await read(path, '/v1/why?pod=default/web'), { status: 200, body: { answer: 'nobody has asked' } });
  for (const pod of ['', 'web', 'a/b/c', '/b']) t.match(await read(path, `/v1/why?pod=${pod}`), { status: 400 }, pod);
  t.match(await read(path, '/v1'), {
    status: 200,
    body: { version: 1, post: ['/v1/commands/gc', '/v1/commands/sync'] },
  });
});

t.test('debug: commands are few, and none is carried out when they are turned off', async (t) => {
  const told: string[] = [];
  const source = introspection(empty, { command: (command) => void told.push(command) });
  let on = true;
  const path = await bound(t, source, { commands: () => on });
  t.strictSame(
    await Promise.all(['gc', 'sync', 'reboot', 'GC'].map((name) => post(path, `/v1/commands/${name}`))),
    [202, 202, 404, 404],
  );
  t.equal(await post(path, '/v1/report'), 404);
  on = false;
  t.equal(await post(path, '/v1/commands/gc'), 403);
  t.strictSame(told.sort(), ['gc', 'sync']);
  t.strictSame(((await read(path, '/v1')).body as { post?: unknown }).post, []);
});

t.test('debug: a reader that stops reading is cut at its bound, and watches no more', async (t) => {
  let watcher: ((event: Inspected) => void) | null = null;
  let cut = 0;
  const watch: Introspection['watch'] = (listener) => {
    watcher = listener;
    return () => {
      watcher = null;
    };
  };
  const log = {
    ...silentLog,
    warn() {
      cut += 1;
    },
  };
  const path = await bound(t, introspection(empty, { watch }), { log });
  const frozen = connect(path);
  frozen.on('error', () => {});
  frozen.write('GET /v1/streams/inspection HTTP/1.1\r\nhost: x\r\n\r\n');
  frozen.pause();
  while (watcher === null) await new Promise((resolve) => setImmediate(resolve));
  const event = { type: 'x', filler: 'y'.repeat(10_000) };
  let sent = 0;
  for (; watcher !== null && sent < 1_000; sent += 1) {
    (watcher as (event: Inspected) => void)({ seq: sent, atMs: 0, kind: 'event', actor: 'node', from: null, event });
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.ok(sent > 90 && sent < 250, `cut after ${sent} events of 10 kB`);
  t.equal(cut, 1);
  t.match(await read(path, '/v1/health'), { status: 200 }, 'others are served');
  frozen.destroy();
});

t.test(
  'debug: a stream tells what concerns the actor that was asked for, and log lines as they are written',
  async (t) => {
    const tap = new LogTap(() => {});
    const all: Inspected[] = ['node', 'node/eniFactory/eni:1', 'node/eniFactory/eni:10'].map((actor, seq) => {
      return { seq, atMs: 0, kind: 'state', actor, state: 's', status: 'active', by: 'e' };
    });
    const watch: Introspection['watch'] = (listener) => {
      for (const event of all) listener(event);
      return () => {};
    };
    const path = await bound(t, introspection(empty, { watch }), { logTap: tap });
    tap.write('{"msg":"before"}\n');
    const firstLine = (url: string) =>
      new Promise<string>((resolve, reject) => {
        const call = get({ socketPath: path, path: url, agent: false }, (response) => {
          response.setEncoding('utf8');
          if (url.includes('log')) tap.write('{"msg":"now"}\n');
          response.once('data', (chunk: string) => {
            resolve(chunk);
            call.destroy();
          });
        });
        call.on('error', reject);
      });
    t.match(await firstLine('/v1/streams/inspection?actor=node/eniFactory/eni:1'), /^\{[^\n]*eni:1"[^\n]*\n$/);
    t.equal(await firstLine('/v1/streams/log'), '{"msg":"now"}\n');
    t.strictSame((await read(path, '/v1/log')).body, [{ msg: 'before' }, { msg: 'now' }]);
  },
);
