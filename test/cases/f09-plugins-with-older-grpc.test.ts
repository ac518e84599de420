/**
 * F9: Terway's plugins up to v1.9.3 carry grpc-go up to 1.56, which sends the path of the socket as `:authority`. Node's HTTP/2 refuses that;
 * our socket takes it. The long form asks with such a client itself (f09-real-grpc-go.long.ts).
 */
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { grpcServer } from '../../src/adapters/grpc/grpc-server.ts';
import { ClientFrames } from '../../src/adapters/grpc/plain-authority.ts';
import { bindUnixSocket } from '../../src/adapters/http/unix-socket.ts';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { fakeBackend, fullReply } from '../adapters/http/fake-backend.ts';
import { shortDirectory } from '../adapters/http/short-directory.ts';

const RAW = '/var/run/eni/eni.socket';
/** AllocReq{ K8sPodName: "p", K8sPodNamespace: "ns" } as gRPC frames it. */
const REQUEST = Buffer.from('00000000070a0170' + '12026e73', 'hex');

async function serve(t: Test) {
  const path = join(shortDirectory(t), 's');
  const { backend, seen } = fakeBackend(() => fullReply);
  const server = grpcServer(backend, silentLog);
  const bound = await bindUnixSocket(server.listener, path);
  t.teardown(() => {
    bound.close();
    server.destroy();
  });
  return { path, seen };
}

/** A client of HTTP/2 that says what it is told as its authority. */
function clientOf(t: Test, path: string) {
  const session = connectHttp2('http://x', { createConnection: () => connect(path) });
  session.on('error', () => {});
  t.teardown(() => session.destroy());
  return (authority: string, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<string>((resolve, reject) => {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': '/rpc.TerwayBackend/AllocIP', ':scheme': 'http', ':authority': authority },
        ...{ 'content-type': 'application/grpc', te: 'trailers', ...headers },
      });
      const got: Buffer[] = [];
      stream.on('data', (bytes: Buffer) => got.push(bytes));
      stream.on('trailers', (trailers) => resolve(`${trailers['grpc-status']} ${Buffer.concat(got).length > 5}`));
      stream.on('error', reject);
      stream.end(REQUEST);
    });
}

t.test('F9: a client that names the path of the socket as its authority is served like any other', async (t) => {
  const { path, seen } = await serve(t);
  const ask = clientOf(t, path);
  for (const authority of [RAW, 'localhost', '%2Fvar%2Frun%2Feni%2Feni.socket', `unix:${RAW}`, '/'])
    t.equal(await ask(authority), '0 true', authority);
  t.match(
    seen.map(({ request }) => request),
    Array.from({ length: 5 }, () => ({ K8sPodName: 'p', K8sPodNamespace: 'ns' })),
  );
});

t.test('F9: on one connection, whatever its tables of headers hold by then', async (t) => {
  const { path } = await serve(t);
  const ask = clientOf(t, path);
  // Each is a new entry, so that the authority's own is driven out and sent anew several times.
  for (let nth = 0; nth < 300; nth += 1) {
    const answer = await ask(nth % 7 === 0 ? `${RAW}${nth}` : RAW, {
      'grpc-timeout': `${5_000 + nth}m`,
      'x-note': 'n'.repeat(nth),
    });
    if (answer !== '0 true') t.equal(answer, '0 true', `call ${nth}`);
  }
  t.equal(await ask(RAW), '0 true');
});

/** Of a whole connection's first bytes: preface, empty SETTINGS, a HEADERS frame. */
function connectionOf(block: Buffer, flags = 0x4): Buffer {
  const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
    const header = Buffer.alloc(9);
    header.writeUIntBE(payload.length, 0, 3);
    header.writeUInt8(type, 3);
    header.writeUInt8(flags, 4);
    header.writeUInt32BE(stream, 5);
    return Buffer.concat([header, payload]);
  };
  return Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    frame(4, 0, 0, Buffer.alloc(0)),
    frame(1, flags, 1, block),
    frame(0, 1, 1, Buffer.from('body/with/slashes')),
  ]);
}

const field = (first: number, text: string) => Buffer.concat([Buffer.from([first, text.length]), Buffer.from(text)]);

t.test(
  'F9: only the value of :authority is another, in whatever pieces the bytes come and however the block begins',
  (t) => {
    // :method POST, a change of the table's size, :authority by each form of a field, content-type, then a name of its own.
    const parts = (authority: string) => [
      Buffer.from([0x83, 0x3f, 0xe1, 0x1f]),
      field(0x41, authority),
      field(0x01, authority),
      field(0x11, authority),
      Buffer.concat([Buffer.from([0x0f, 0x10, 0x03]), Buffer.from('a/b')]),
      Buffer.concat([field(0x40, 'x/y'), Buffer.from([0x03]), Buffer.from('/z/')]),
    ];
    const plain = 'unix-socket-unix-socket';
    const priority = Buffer.from([0x80, 0, 0, 0, 0x10]);
    const forms: [number, (block: Buffer) => Buffer][] = [
      [0x4, (block) => block],
      [0x24, (block) => Buffer.concat([priority, block])],
      [0x2c, (block) => Buffer.concat([Buffer.from([3]), priority, block, Buffer.alloc(3)])],
    ];
    for (const [flags, form] of forms) {
      const sent = connectionOf(form(Buffer.concat(parts(RAW))), flags);
      const wanted = connectionOf(form(Buffer.concat(parts(plain))), flags);
      for (const size of [1, 2, 7, 33, 1_000]) {
        const frames = new ClientFrames();
        const pieces: Buffer[] = [];
        for (let at = 0; at < sent.length; at += size)
          pieces.push(...frames.read(Buffer.from(sent.subarray(at, at + size))));
        t.equal(
          Buffer.concat(pieces).toString('hex'),
          wanted.toString('hex'),
          `flags ${flags}, ${size} bytes at a time`,
        );
      }
    }
    t.end();
  },
);

t.test('F9: what is no header block passes as it is, and nothing of it is kept', (t) => {
  const shapes = [
    Buffer.from([0x41, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), // a length that never ends
    Buffer.from([0x41, 0x05, 0x61]), // a value beyond its frame
    Buffer.from([0x40]),
    Buffer.alloc(0),
  ];
  for (const block of shapes) {
    const sent = connectionOf(block);
    t.equal(Buffer.concat(new ClientFrames().read(Buffer.from(sent))).toString('hex'), sent.toString('hex'));
  }
  const long = connectionOf(Buffer.alloc(20_000, 0x41));
  t.equal(Buffer.concat(new ClientFrames().read(Buffer.from(long))).length, long.length, 'longer than any we take');
  t.end();
});
