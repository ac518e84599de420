import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { backendClient } from '../../../src/adapters/http/backend-client.ts';
import { postOverNode } from '../../../src/adapters/http/post-node.ts';

const request = { K8sPodName: 'p', K8sPodNamespace: 'n', K8sPodInfraContainerId: 'c' };

async function listening(t: Test, listener: RequestListener): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'enactor-backend-'));
  const server: Server = createServer(listener);
  const socketPath = join(directory, 's');
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return socketPath;
}

test('backend client: path, headers and body of a call, and its reply', async (t) => {
  const seen: unknown[] = [];
  const socketPath = await listening(t, (incoming, response) => {
    let body = '';
    incoming.on('data', (chunk) => (body += chunk));
    incoming.on('end', () => {
      const { 'content-type': type, 'connect-timeout-ms': timeout } = incoming.headers;
      seen.push([incoming.method, incoming.url, type, timeout, JSON.parse(body)]);
      response.end('{"Success":true}');
    });
  });
  const client = backendClient(socketPath, postOverNode);
  t.strictSame(await client.call('GetIPInfo', request, { timeoutMs: 2500.4 }), { Success: true });
  // Told to be done a little earlier than we stop listening: its answer knows the cause, our time-out would not.
  t.strictSame(seen, [['POST', '/rpc.TerwayBackend/GetIPInfo', 'application/json', '2249', request]]);
});

test('backend client: each way to fail has its code, and only a call nobody took is without effect', async (t) => {
  const cases: [RequestListener | null, string, RegExp, boolean][] = [
    [(_, response) => response.writeHead(503).end('{"code":"unavailable","message":"m"}'), 'unavailable', /^m$/, false],
    [(_, response) => response.writeHead(503).end('{"code":"unavailable"}'), 'unavailable', /^unavailable$/, false],
    [(_, response) => response.writeHead(502).end('<html>'), 'broken', /HTTP 502 with "<html>"/, false],
    [(_, response) => response.end('[]'), 'broken', /HTTP 200 with "\[\]"/, false],
    [(incoming) => incoming.socket.destroy(), 'broken', /broke: ECONNRESET/, false],
    [() => {}, 'deadline_exceeded', /no answer on .* within 50 ms/, false],
    [null, 'unreachable', /not reachable on .*: ENOENT/, true],
  ];
  for (const [listener, code, message, withoutEffect] of cases) {
    const socketPath = listener === null ? '/tmp/enactor-absent/s' : await listening(t, listener);
    const called = backendClient(socketPath, postOverNode).call('ReleaseIP', request, {
      timeoutMs: code === 'deadline_exceeded' ? 50 : 10_000, // short only where the deadline is what is tried
    });
    await t.rejects(called, { name: 'BackendError', code, message, withoutEffect }, code);
  }
  const stop = new AbortController();
  const socketPath = await listening(t, () => stop.abort());
  const called = backendClient(socketPath, postOverNode).call(
    'AllocIP',
    { ...request, Netns: '', IfName: '' },
    { timeoutMs: 9_000, signal: stop.signal },
  );
  await t.rejects(called, { code: 'canceled' });
  t.throws(() => backendClient('x'.repeat(108), postOverNode), /the limit is 107/);
});
