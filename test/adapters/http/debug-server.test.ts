import { get } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { debugServer } from '../../../src/adapters/http/debug-server.ts';
import { bindUnixSocket } from '../../../src/adapters/http/unix-socket.ts';
import type { NodeReport } from '../../../src/ports/introspection.ts';
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

t.test('debug: health names what is missing, the report is the actors’ own', async (t) => {
  const path = join(shortDirectory(t), 's');
  let report: NodeReport | null = null;
  const bound = await bindUnixSocket(
    debugServer(() => report),
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
