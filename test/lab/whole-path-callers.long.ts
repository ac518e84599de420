/** The real daemon against whoever may call it: pods that are not this node's, Terway's plugin, hostile bytes, callers that leave. */
import './in-box.ts';

import { lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { type Client, credentials, makeClientConstructor, type ServiceError } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { backendService } from '../../src/adapters/grpc/service.ts';
import type { AllocIPReply, ReleaseIPReply } from '../../src/core/wire.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { ask } from '../daemon/machine.ts';
import { cannotWalk, eventually, type Runtime, walk } from './whole-path.ts';

t.setTimeout(120_000);
const skip = cannotWalk();

const post = (runtime: Runtime, method: string, body: unknown) =>
  ask(runtime.node.jsonSocket, 'POST', `/rpc.TerwayBackend/${method}`, body);

/** Bytes as they are; what comes back until the other end closes or says nothing for a while. */
function raw(path: string, bytes: string | Buffer, patienceMs = 1_000): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path, () => socket.write(bytes));
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}

type Unary = (request: unknown, done: (error: ServiceError | null, reply: unknown) => void) => { cancel(): void };
type Stub = Client & Record<'AllocIP' | 'ReleaseIP' | 'GetIPInfo', Unary>;

function stub(path: string, options: Record<string, string> = {}): Stub {
  const Service = makeClientConstructor(backendService(), 'TerwayBackend');
  return new Service(`unix:${path}`, credentials.createInsecure(), options) as unknown as Stub;
}

function asked<T>(client: Stub, method: 'AllocIP' | 'ReleaseIP' | 'GetIPInfo', request: unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    client[method](request, (error, reply) => (error === null ? resolve(reply as T) : reject(error)));
  });
}

t.test('callers: a pod that is not this node’s to serve is refused, and costs nothing', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    runtime.createPod('elsewhere', 'default', { nodeName: 'node-9' });
    runtime.createPod('on-host', 'default', { hostNetwork: true });
    runtime.createPod('ignored', 'default', {}, { labels: { 'k8s.aliyun.com/ignore-by-terway': 'true' } });
    const old = runtime.createPod('replaced');
    runtime.deletePod('replaced');
    runtime.createPod('replaced');
    for (const [pod, uid, why] of [
      ['nobody', null, /pod default\/nobody does not exist/],
      ['elsewhere', null, /is on node node-9, not on node-1/],
      ['on-host', null, /uses the host's network/],
      ['ignored', null, /is labelled k8s.aliyun.com\/ignore-by-terway/],
      ['replaced', old, /has uid .*, the sandbox was made for/],
    ] as const) {
      const sandbox = runtime.sandbox(`c-${pod}`, pod, uid);
      const ran = await runtime.add(sandbox);
      t.equal(ran.exitCode, 1, ran.stdout);
      t.match(ran.error, { code: 11, msg: why, details: /not_found/ });
      t.ok(ran.ms < 5_000, `${pod}: told at once, kubelet asks again`);
      t.equal((await runtime.del(sandbox)).exitCode, 0);
    }
    t.strictSame(runtime.mutations(), [], 'the cloud was not asked for anything');
    await runtime.invariants(t);
  });
});

t.test('callers: Terway’s plugin, over gRPC with Terway’s fields only', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const client = stub(runtime.node.grpcSocket);
    const pod = (id: string) => ({ K8sPodName: 'web-0', K8sPodNamespace: 'default', K8sPodInfraContainerId: id });
    runtime.createPod('web-0');
    const first = await asked<AllocIPReply>(client, 'AllocIP', { ...pod('s1'), Netns: '/proc/1/ns/net', IfName: '' });
    const again = await asked<AllocIPReply>(client, 'AllocIP', {
      ...pod('s1'),
      Netns: '/proc/1/ns/net',
      IfName: 'eth0',
    });
    t.strictSame(again, first, 'no interface name means eth0');
    t.match(first, { Success: true, IPType: 2, IPv4: true, NetConfs: [{ DefaultRoute: true }] });
    const [conf] = first.NetConfs ?? [];
    t.match(conf, {
      BasicInfo: {
        PodIP: { IPv4: /^192\.168\.0\.\d+$/ },
        PodCIDR: { IPv4: '192.168.0.0/24' },
        GatewayIP: { IPv4: '192.168.0.253' },
      },
      ENIInfo: { MAC: /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/, GatewayIP: { IPv4: '192.168.0.253' } },
    });
    t.match(await asked(client, 'GetIPInfo', pod('s1')), { Success: true, NetConfs: [conf] });
    // The same lease whoever asks.
    const json = await post(runtime, 'AllocIP', { ...pod('s1'), Netns: '', IfName: 'eth0' });
    t.match(json, { status: 200, body: { NetConfs: [{ BasicInfo: conf?.BasicInfo }] } });

    const second = await asked<AllocIPReply>(client, 'AllocIP', {
      ...pod('s2'),
      Netns: '/proc/1/ns/net',
      IfName: 'eth0',
    });
    const ip = second.NetConfs?.[0]?.BasicInfo?.PodIP?.IPv4 ?? '';
    t.not(ip, conf?.BasicInfo?.PodIP?.IPv4);
    for (const _ of ['late', 'twice']) {
      const late = {
        ...pod('s1'),
        IPType: 2,
        IPv4Addr: { IPv4: ip },
        MacAddr: conf?.ENIInfo?.MAC,
        Reason: 'normal release',
      };
      t.match(await asked<ReleaseIPReply>(client, 'ReleaseIP', late), { Success: true });
      t.equal(await runtime.stateOf(ip), 'bound', 'the address named in the request is not what is released');
    }
    t.match(await asked(client, 'GetIPInfo', pod('s1')), { Success: true });
    await asked(client, 'ReleaseIP', pod('s2'));
    await asked(client, 'ReleaseIP', pod('never-seen'));
    await runtime.invariants(t);
    client.close();

    for (const authority of ['localhost', '%2Frun%2Feni.socket', 'a.b:1', '127.0.0.1']) {
      const named = stub(runtime.node.grpcSocket, { 'grpc.default_authority': authority });
      t.match(await asked(named, 'GetIPInfo', pod('s1')), { Success: true }, `:authority ${authority}`);
      named.close();
    }
  });
});

t.test('callers: hostile bytes on all three sockets; it goes on serving', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const { jsonSocket, grpcSocket, debugSocket } = runtime.node;
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    const huge = JSON.stringify({ K8sPodName: 'x'.repeat(3 << 20) });
    const request = (body: string | Buffer, { method = 'POST', path = '/rpc.TerwayBackend/AllocIP', head = '' } = {}) =>
      Buffer.concat([
        Buffer.from(
          `${method} ${path} HTTP/1.1\r\nhost: d\r\nconnection: close\r\ncontent-type: application/json\r\n${head}` +
            `content-length: ${Buffer.byteLength(body)}\r\n\r\n`,
        ),
        Buffer.from(body),
      ]);
    const cases: readonly (readonly [what: string, bytes: string | Buffer, answer: RegExp])[] = [
      ['deep nesting', request(deep), /^HTTP\/1\.1 400 /],
      ['three megabytes', request(huge), /^(HTTP\/1\.1 413 |$)/],
      ['__proto__', request('{"__proto__":{"K8sPodName":"p"},"constructor":{"prototype":{}}}'), /^HTTP\/1\.1 400 /],
      ['wrong types', request('{"K8sPodName":{"a":1},"K8sPodInfraContainerId":[]}'), /^HTTP\/1\.1 400 /],
      ['null', request('null'), /^HTTP\/1\.1 400 /],
      [
        'a NUL in a name',
        request('{"K8sPodName":"a\\u0000b","K8sPodNamespace":"d","K8sPodInfraContainerId":"i"}'),
        /^HTTP\/1\.1 4/,
      ],
      [
        'a path in a name',
        request('{"K8sPodName":"../../nodes/node-1","K8sPodNamespace":"..","K8sPodInfraContainerId":"i"}'),
        /^HTTP\/1\.1 4/,
      ],
      ['no UTF-8', request(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])), /^HTTP\/1\.1 400 /],
      ['GET', request('', { method: 'GET' }), /^HTTP\/1\.1 405 /],
      ['another method', request('{}', { path: '/rpc.TerwayBackend/toString' }), /^HTTP\/1\.1 404 /],
      ['another service', request('{}', { path: '/rpc.TerwayTracing/../TerwayBackend/AllocIP' }), /^HTTP\/1\.1 404 /],
      ['a time of minus one', request('{}', { head: 'connect-timeout-ms: -1\r\n' }), /^HTTP\/1\.1 400 /],
      ['no HTTP', '\u0000\u0001\u0002 hello', /^HTTP\/1\.1 400 /],
      ['two lengths', 'POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', /^HTTP\/1\.1 400 /],
      ['headers without end', `POST / HTTP/1.1\r\n${'x: y\r\n'.repeat(20_000)}`, /^HTTP\/1\.1 431 /],
    ];
    for (const [what, bytes, answer] of cases) {
      const text = await raw(jsonSocket, bytes);
      t.match(text, answer, what);
    }
    for (const [what, bytes] of cases) {
      await raw(grpcSocket, bytes, 200);
      const text = await raw(debugSocket, bytes, 200);
      t.notMatch(text, /^HTTP\/1\.1 (2|5)/, `debug: ${what}`);
    }
    // HTTP/2 whose first frame promises sixteen megabytes, and one that never ends its headers.
    await raw(
      grpcSocket,
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u00ff\u00ff\u00ff\u0000\u0000\u0000\u0000\u0000\u0001',
      200,
    );
    const sandbox = runtime.newPod('after-all');
    const ran = await runtime.add(sandbox);
    t.equal(ran.exitCode, 0, ran.stdout);
    await runtime.invariants(t, new Map([[sandbox, ran.ip]]));
    t.notMatch(await runtime.node.daemon?.logTail(1_000), /met a fault/, 'no fault of the daemon was met');
  });
});

t.test('callers: whoever leaves has cancelled, over either socket', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    await runtime.plant({ api: 'CreateNetworkInterface', times: 1, effect: 'delay', ms: 1_500 });
    const client = stub(runtime.node.grpcSocket);
    const body = (id: string) => ({
      ...{ K8sPodName: 'p', K8sPodNamespace: 'default', K8sPodInfraContainerId: id, Netns: '', IfName: 'eth0' },
    });
    runtime.createPod('p');
    const call = client.AllocIP(body('over-grpc'), () => {});
    const text = JSON.stringify(body('over-json'));
    const leaving = raw(
      runtime.node.jsonSocket,
      `POST /rpc.TerwayBackend/AllocIP HTTP/1.1\r\nhost: d\r\ncontent-type: application/json\r\n` +
        `content-length: ${text.length}\r\n\r\n${text}`,
      500,
    );
    const killed = runtime.newPod('killed');
    const dying = runtime.add(killed, { started: (child) => setTimeout(() => child.kill('SIGKILL'), 700) });
    await eventually('all three wait', async () => (await runtime.report()).actors.filter(isLease).length === 3);
    t.equal(await leaving, '', 'it left without an answer');
    call.cancel();
    t.equal((await dying).signal, 'SIGKILL');
    await eventually('nobody waits any more', async () =>
      (await runtime.report()).actors.every((one) => !isLease(one)),
    );
    client.close();
    await runtime.invariants(t);
  });
});

t.test('callers: a socket that is removed under the daemon is made anew', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    const { node } = runtime;
    const sandbox = runtime.newPod('p');
    const { ip } = await runtime.add(sandbox);
    for (const socket of [node.grpcSocket]) {
      rmSync(socket);
      await eventually('it is there again', async () => lstatSync(socket).isSocket());
      t.equal(await runtime.stateOf(ip), 'bound');
    }
    await runtime.invariants(t, new Map([[sandbox, ip]]));
  });
});

t.test('callers: nothing that can be read holds a secret', { skip }, async (t) => {
  await walk(t, {}, async (runtime) => {
    await runtime.plant({ api: 'CreateNetworkInterface', times: 2, effect: 'fail', code: 'Forbidden.RAM' });
    await runtime.plant({ api: 'DescribeNetworkInterfaces', times: 2, effect: 'fail', code: 'SignatureDoesNotMatch' });
    const sandbox = runtime.newPod('p');
    const ran = await runtime.add(sandbox);
    const readable = {
      'the report': JSON.stringify(await runtime.report()),
      'the ledger': JSON.stringify(runtime.lab.cloud.live.gateway.ledger.read(0, null)),
      'the API server’s objects': JSON.stringify(objectsOf(runtime)),
      'the installed configuration': JSON.stringify(runtime.conf),
    };
    t.strictSame(runtime.secrets(readable), []);
    t.ok(secretsIn(t, runtime), 'and the search would find one');
    await runtime.del(sandbox);
    t.match(ran.error.msg, /Forbidden\.RAM/, 'while the cause is told');
  });
});

/** The daemon's own configuration does hold the secret, so the search has to find it there. */
function secretsIn(t: Test, runtime: Runtime): boolean {
  const found = runtime.secrets({ planted: 'x lab-access-key-secret y', token: runtime.lab.api.token });
  t.strictSame(found, ['planted', 'token']);
  return found.length === 2;
}

function objectsOf({ lab }: Runtime): unknown {
  return ['pods', 'nodes', 'events'].map((plural) => {
    const resource = resourceNamed(plural);
    return resource === null ? [] : lab.api.store.list(resource, null);
  });
}

function isLease({ path }: { readonly path: string }): boolean {
  return path.includes('/lease:');
}
