import { join } from 'node:path';
import { type Client, credentials, makeClientConstructor, type ServiceError, status } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { grpcServer } from '../../../src/adapters/grpc/grpc-server.ts';
import { backendService, nodeServiceDefinition } from '../../../src/adapters/grpc/service.ts';
import { bindUnixSocket } from '../../../src/adapters/http/unix-socket.ts';
import { silentLog } from '../../../src/adapters/logging/silent-log.ts';
import { EnactorError, type ErrorCode, errorTable } from '../../../src/core/errors.ts';
import type { Backend } from '../../../src/ports/backend.ts';
import { fakeBackend, fullReply, whenAborted } from '../http/fake-backend.ts';
import { shortDirectory } from '../http/short-directory.ts';

type Options = { deadline?: number };
type Callback = (error: ServiceError | null, reply: unknown) => void;
type Unary = (request: unknown, options: Options, callback: Callback) => { cancel(): void };
type BackendClient = Client & Record<'AllocIP' | 'ReleaseIP' | 'GetIPInfo' | 'RecordEvent', Unary>;

async function serve(t: Test, backend: Backend): Promise<BackendClient> {
  const path = join(shortDirectory(t), 's');
  const server = grpcServer(backend, silentLog);
  const bound = await bindUnixSocket(server.listener, path);
  const Stub = makeClientConstructor(backendService(), 'TerwayBackend');
  const client = new Stub(`unix:${path}`, credentials.createInsecure()) as unknown as BackendClient;
  t.teardown(() => {
    client.close();
    bound.close();
    server.destroy();
  });
  return client;
}

function ask(
  client: BackendClient,
  method: 'AllocIP' | 'ReleaseIP' | 'GetIPInfo' | 'RecordEvent',
  request: unknown,
  options = {},
) {
  return new Promise<unknown>((resolve, reject) => {
    client[method](request, options, (error, reply) => (error === null ? resolve(reply) : reject(error)));
  });
}

t.test('grpc: all fields, ours and Terway’s, travel both ways', async (t) => {
  const { backend, seen } = fakeBackend(() => fullReply);
  const client = await serve(t, backend);
  const request = {
    K8sPodName: 'p',
    K8sPodNamespace: 'ns',
    K8sPodInfraContainerId: 'c1',
    Netns: '/proc/1/ns/net',
    IfName: 'eth0',
    NetworkName: 'enactor',
    PodUid: 'uid-1',
  };
  t.strictSame(await ask(client, 'AllocIP', request), fullReply, 'uint64 as text, a VfId of 0 present');
  t.strictSame(seen[0]?.request, request);
  const { VfId: _, ...without } = fullReply.NetConfs[0]?.ENIInfo ?? {};
  t.notOk('VfId' in without);
});

t.test('grpc: every method is there, with absent fields at their defaults', async (t) => {
  const { backend, seen } = fakeBackend(({ method }) =>
    method === 'RecordEvent' ? { Succeed: true } : { Success: true },
  );
  const client = await serve(t, backend);
  t.strictSame(await ask(client, 'ReleaseIP', { K8sPodName: 'p', IPType: 2, IPv4Addr: { IPv4: '1.2.3.4' } }), {
    Success: true,
  });
  t.strictSame(await ask(client, 'GetIPInfo', { K8sPodName: 'p' }), { Success: true });
  t.strictSame(await ask(client, 'RecordEvent', { EventTarget: 1, K8sPodName: 'p', EventType: 1 }), { Succeed: true });
  t.match(seen[0], {
    method: 'ReleaseIP',
    request: { IPType: 2, IPv4Addr: { IPv4: '1.2.3.4' }, IfName: '', Reason: '' },
  });
  t.match(seen[1], { method: 'GetIPInfo', request: { K8sPodName: 'p', K8sPodNamespace: '' } });
  t.match(seen[2], { method: 'RecordEvent', request: { EventTarget: 1, EventType: 1, Message: '' } });
});

t.test(
  'grpc: enactor.v1.Node is beside it: GC, STATUS and CHECK, and a list that is missing is no empty list',
  async (t) => {
    const { backend, seen } = fakeBackend(({ method }) => {
      if (method === 'Gc') return { Released: [{ ContainerId: 'c2', IfName: 'eth0', IPs: ['192.168.0.12'] }] };
      return method === 'Status'
        ? { Code: 50, Message: 'full', Passing: true }
        : { Problems: ['address 192.168.0.12'] };
    });
    const path = join(shortDirectory(t), 's');
    const server = grpcServer(backend, silentLog);
    const bound = await bindUnixSocket(server.listener, path);
    const Stub = makeClientConstructor(nodeServiceDefinition(), 'Node');
    const node = new Stub(`unix:${path}`, credentials.createInsecure()) as unknown as Client &
      Record<'Gc' | 'Status' | 'Check', Unary>;
    t.teardown(() => {
      node.close();
      bound.close();
      server.destroy();
    });
    const call = (method: 'Gc' | 'Status' | 'Check', request: unknown) =>
      new Promise<unknown>((resolve, reject) => {
        node[method](request, {}, (error, reply) => (error === null ? resolve(reply) : reject(error)));
      });
    const [attachment] = [{ ContainerId: 'c1', IfName: 'eth0' }];
    t.strictSame(await call('Gc', { NetworkName: 'n', ValidAttachments: [attachment] }), {
      Released: [{ ContainerId: 'c2', IfName: 'eth0', IPs: ['192.168.0.12'] }],
    });
    t.strictSame(await call('Status', { NetworkName: 'n' }), { Code: 50, Message: 'full', Passing: true });
    t.strictSame(await call('Check', attachment), { Problems: ['address 192.168.0.12'] });
    await t.rejects(call('Gc', { NetworkName: 'n' }), { code: status.INVALID_ARGUMENT, details: /ValidAttachments/ });
    await call('Gc', { NetworkName: 'n', NothingIsValid: true });
    t.strictSame(
      seen.map(({ method, request }) => [method, request]),
      [
        ['Gc', { NetworkName: 'n', ValidAttachments: [attachment] }],
        ['Status', { NetworkName: 'n' }],
        ['Check', attachment],
        ['Gc', { NetworkName: 'n', ValidAttachments: [] }],
      ],
    );
  },
);

t.test('grpc: a reply without VfId has none', async (t) => {
  const { backend } = fakeBackend(() => ({ NetConfs: [{ ENIInfo: { MAC: 'm' } }] }));
  const client = await serve(t, backend);
  t.strictSame(await ask(client, 'GetIPInfo', {}), { NetConfs: [{ ENIInfo: { MAC: 'm' } }] });
});

t.test('grpc: every failure of the table has its status and Terway’s text', async (t) => {
  let code: ErrorCode = 'internal';
  const { backend } = fakeBackend(() => {
    throw new EnactorError(code, 'eni-1 says no');
  });
  const client = await serve(t, backend);
  const names: Record<string, string> = {};
  for (code of Object.keys(errorTable) as ErrorCode[]) {
    const error = (await ask(client, 'AllocIP', {}).catch((thrown: unknown) => thrown)) as ServiceError;
    t.equal(error.details, `code: ${errorTable[code].terway}, msg: eni-1 says no`);
    names[code] = status[error.code];
  }
  t.match(names, { invalidArgument: 'INVALID_ARGUMENT', podUnknown: 'NOT_FOUND', notReady: 'UNAVAILABLE' });
  t.match(names, { deadline: 'DEADLINE_EXCEEDED', cancelled: 'CANCELLED', noCapacity: 'RESOURCE_EXHAUSTED' });
  t.notOk(Object.values(names).includes('UNKNOWN'));
});

t.test('grpc: the caller’s deadline is the backend’s, at most 118 s', async (t) => {
  const { backend, seen } = fakeBackend(() => ({}));
  const client = await serve(t, backend);
  const deadline = Date.now() + 5_000;
  await ask(client, 'AllocIP', {}, { deadline });
  await ask(client, 'AllocIP', {});
  t.ok(Math.abs((seen[0]?.call.untilMs ?? 0) - deadline) < 2_000);
  t.ok((seen[1]?.call.untilMs ?? 0) <= Date.now() + 118_000);
});

t.test('grpc: a cancelled call fires the signal', async (t) => {
  let heard = () => {};
  const done = new Promise<void>((resolve) => {
    heard = resolve;
  });
  let started = () => {};
  const running = new Promise<void>((resolve) => {
    started = resolve;
  });
  const { backend } = fakeBackend(async ({ call }) => {
    started();
    await whenAborted(call.signal);
    heard();
    return {};
  });
  const client = await serve(t, backend);
  const failed = new Promise<ServiceError | null>((resolve) => {
    const call = client.AllocIP({}, {}, (error) => resolve(error));
    running.then(() => call.cancel());
  });
  t.equal((await failed)?.code, status.CANCELLED);
  await done;
});

t.test('grpc: a request beyond the limit is refused before the backend sees it', async (t) => {
  const { backend, seen } = fakeBackend(() => ({}));
  const client = await serve(t, backend);
  await t.rejects(ask(client, 'AllocIP', { Netns: 'x'.repeat(3_000_000) }), { code: status.RESOURCE_EXHAUSTED });
  t.strictSame(seen, []);
});
