import { get } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { debugServer } from '../../../src/adapters/http/debug-server.ts';
import { bindUnixSocket } from '../../../src/adapters/http/unix-socket.ts';
import type { Input } from '../../../src/core/input-journal.ts';
import type { Introspection, NodeReport } from '../../../src/ports/introspection.ts';
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

const introspection = (report: NodeReport): Introspection => ({
  report: () => report,
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
