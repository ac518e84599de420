import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { jsonServer } from '../../../src/adapters/http/json-server.ts';
import { bindUnixSocket } from '../../../src/adapters/http/unix-socket.ts';
import { silentLog } from '../../../src/adapters/logging/silent-log.ts';
import { EnactorError, type ErrorCode, errorTable } from '../../../src/core/errors.ts';
import type { Backend } from '../../../src/ports/backend.ts';
import { fakeBackend, fullReply, whenAborted } from './fake-backend.ts';
import { shortDirectory } from './short-directory.ts';

type Answer = { status: number; headers: IncomingHttpHeaders; body: Record<string, unknown> };

async function serve(t: Test, backend: Backend): Promise<string> {
  const path = join(shortDirectory(t), 's');
  const server = jsonServer(backend, silentLog);
  const bound = await bindUnixSocket(server, path);
  t.teardown(() => {
    bound.close();
    server.closeAllConnections();
  });
  return path;
}

type Ask = { path?: string; method?: string; body?: string; headers?: Record<string, string> };

function ask(
  socketPath: string,
  { path = '/rpc.TerwayBackend/AllocIP', method = 'POST', body, headers }: Ask,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request(
      { socketPath, path, method, headers: { 'content-type': 'application/json', ...headers }, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: JSON.parse(text) }),
        );
      },
    );
    call.on('error', reject);
    call.end(body ?? '{"K8sPodName":"p","K8sPodNamespace":"ns","K8sPodInfraContainerId":"c1"}');
  });
}

t.test('json: a request reaches the backend with its defaults, and the reply comes back as it is', async (t) => {
  const { backend, seen } = fakeBackend(() => fullReply);
  const socket = await serve(t, backend);
  const before = Date.now();
  const answer = await ask(socket, { headers: { 'connect-timeout-ms': '5000', 'connect-protocol-version': '1' } });
  t.equal(answer.status, 200);
  t.equal(answer.headers['content-type'], 'application/json');
  t.strictSame(answer.body, fullReply);
  t.strictSame(seen[0]?.request, {
    K8sPodName: 'p',
    K8sPodNamespace: 'ns',
    K8sPodInfraContainerId: 'c1',
    Netns: '',
    IfName: '',
    NetworkName: '',
    PodUid: '',
  });
  const untilMs = seen[0]?.call.untilMs ?? 0;
  t.ok(untilMs >= before + 4500 && untilMs <= Date.now() + 4500, 'a little before the caller’s deadline');
});

t.test('json: without a time-out, and with one that is too long, the daemon’s own deadline holds', async (t) => {
  const { backend, seen } = fakeBackend(() => ({}));
  const socket = await serve(t, backend);
  await ask(socket, {});
  await ask(socket, { headers: { 'connect-timeout-ms': '9999999999' } });
  for (const { call } of seen) t.ok(call.untilMs <= Date.now() + 118_000 && call.untilMs > Date.now() + 100_000);
});

t.test('json: every failure of the table has its status and Terway’s text', async (t) => {
  let code: ErrorCode = 'internal';
  const { backend } = fakeBackend(() => {
    throw new EnactorError(code, `eni-1 says no`);
  });
  const socket = await serve(t, backend);
  const statuses: Record<string, number> = {};
  for (code of Object.keys(errorTable) as ErrorCode[]) {
    const { status, body } = await ask(socket, {});
    t.strictSame(body, {
      code: errorTable[code].status,
      message: `code: ${errorTable[code].terway}, msg: eni-1 says no`,
    });
    statuses[code] = status;
  }
  t.match(statuses, { invalidArgument: 400, podUnknown: 404, notReady: 503, deadline: 504, cancelled: 499 });
  t.match(statuses, { noCapacity: 429, permission: 403, internal: 500, store: 503 });
});

t.test('json: what is wrong with a request is named, and the backend never sees it', async (t) => {
  const { backend, seen } = fakeBackend(() => ({}));
  const socket = await serve(t, backend);
  const refused = async (what: Ask, status: number, code: string, message: RegExp) => {
    const answer = await ask(socket, what);
    t.equal(answer.status, status);
    t.equal(answer.body.code, code);
    t.match(answer.body.message, message);
  };
  await refused({ body: '{"K8sPodName":' }, 400, 'invalid_argument', /request: /);
  await refused({ body: '' }, 400, 'invalid_argument', /request: /);
  await refused({ body: '[]' }, 400, 'invalid_argument', /request: /);
  await refused({ body: '{"K8sPodName":7}' }, 400, 'invalid_argument', /K8sPodName: /);
  await refused(
    { body: '{"IPv4Addr":{"IPv4":1}}', path: '/rpc.TerwayBackend/ReleaseIP' },
    400,
    'invalid_argument',
    /IPv4Addr\.IPv4/,
  );
  await refused({ headers: { 'connect-timeout-ms': 'soon' } }, 400, 'invalid_argument', /Connect-Timeout-Ms/);
  await refused({ path: '/rpc.TerwayBackend/Nothing' }, 404, 'unimplemented', /no such method/);
  await refused({ path: '/rpc.TerwayBackend/constructor' }, 404, 'unimplemented', /no such method/);
  await refused({ path: '/' }, 404, 'unimplemented', /no such method/);
  await refused({ method: 'PUT' }, 405, 'unimplemented', /only POST/);
  await refused({ headers: { 'content-type': 'application/grpc' } }, 415, 'unknown', /application\/json/);
  await refused({ body: `{"Netns":"${'x'.repeat(9 << 20)}"}` }, 413, 'resource_exhausted', /2097152 bytes/);
  t.strictSame(seen, []);
});

t.test('json: Gc takes the attachments of any node', async (t) => {
  const { backend, seen } = fakeBackend(() => ({}));
  const socket = await serve(t, backend);
  const id = 'a'.repeat(64);
  const all = Array.from({ length: 10_000 }, (_, nth) => ({ ContainerId: `${id.slice(6)}${nth}`, IfName: 'eth0' }));
  const body = JSON.stringify({ NetworkName: 'enactor', ValidAttachments: all });
  const { status } = await ask(socket, { path: '/enactor.v1.Node/Gc', body });
  t.equal(status, 200);
  t.match(seen, { length: 1 });
});

t.test('json: a caller that disconnects has cancelled', async (t) => {
  let cancelled = () => {};
  const done = new Promise<void>((resolve) => {
    cancelled = resolve;
  });
  const { backend, seen } = fakeBackend(async ({ call }) => {
    await whenAborted(call.signal);
    cancelled();
    return {};
  });
  const socket = await serve(t, backend);
  const client = connect(socket);
  const body = '{"K8sPodName":"p"}';
  client.write(
    `POST /rpc.TerwayBackend/AllocIP HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(seen[0]?.call.signal.aborted, false);
  client.destroy();
  await done;
  t.match(seen[0]?.call.signal.reason, { code: 'cancelled' });
});

t.test('json: at the deadline the caller gets an answer and the backend’s signal fires', async (t) => {
  const { backend, seen } = fakeBackend(async ({ call }) => {
    await whenAborted(call.signal);
    return {};
  });
  const socket = await serve(t, backend);
  const { status, body } = await ask(socket, { headers: { 'connect-timeout-ms': '50' } });
  t.equal(status, 504);
  t.equal(body.code, 'deadline_exceeded');
  t.equal(seen[0]?.call.signal.aborted, true);
});

t.test('json: a backend that gives up at its deadline is heard, since only it knows the cause', async (t) => {
  const { backend } = fakeBackend(async ({ call }) => {
    await new Promise((resolve) => setTimeout(resolve, call.untilMs - Date.now()));
    throw new EnactorError('cloud', 'QuotaExceeded.Eni');
  });
  const socket = await serve(t, backend);
  const { status, body } = await ask(socket, { headers: { 'connect-timeout-ms': '2000' } });
  t.match({ status, ...body }, { status: 503, code: 'unavailable', message: /QuotaExceeded\.Eni/ });
});

t.test('json: a thrown stranger is internal, with its message', async (t) => {
  const { backend } = fakeBackend(() => {
    throw new TypeError('undefined is not a function');
  });
  const socket = await serve(t, backend);
  t.match(await ask(socket, {}), { status: 500, body: { code: 'internal', message: /undefined is not a function/ } });
});

t.test('json: the trace of a call reaches the backend, and what is none does not', async (t) => {
  const { backend, seen } = fakeBackend(() => fullReply);
  const socket = await serve(t, backend);
  const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  for (const headers of [{ traceparent: trace }, { traceparent: 'nonsense' }, {}]) await ask(socket, { headers });
  t.strictSame(
    seen.map(({ call }) => call.trace),
    [trace, null, null],
  );
});
