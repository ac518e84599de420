import { test } from 'tap';
import { postOverStreams } from '../../../src/adapters/http/post-streams.ts';
import type { UnixStreams } from '../../../src/adapters/http/unix-streams.ts';

const EAGAIN = 11;
const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');

/** A socket whose calls answer what these say, each in turn, and the last again and again. */
class Told implements UnixStreams {
  readonly sent: Buffer[] = [];
  readonly waited: string[] = [];
  closed = 0;
  readonly #said: Readonly<Record<'open' | 'send' | 'receive', (number | Buffer)[]>>;

  constructor(said: Partial<Record<'open' | 'send' | 'receive', (number | Buffer)[]>>) {
    this.#said = { open: [5], send: [9_999], receive: [ANSWER], ...said };
  }

  #next(of: 'open' | 'send' | 'receive'): number | Buffer {
    const [next = 0, ...more] = this.#said[of];
    if (more.length > 0) this.#said[of].shift();
    return next;
  }

  streamTo = (): number => Number(this.#next('open'));
  close = (): number => {
    this.closed += 1;
    return 0;
  };
  send = (_fd: number, bytes: Uint8Array): number => {
    const said = Number(this.#next('send'));
    if (said < 0) return said;
    const size = Math.min(said, bytes.length);
    this.sent.push(Buffer.from(bytes.subarray(0, size)));
    return size;
  };
  receive = (_fd: number, into: Uint8Array): number => {
    const said = this.#next('receive');
    if (typeof said === 'number') return said;
    into.set(said);
    return said.length;
  };
  wait = (_fd: number, to: string): number => {
    this.waited.push(to);
    return this.waited.length % 2; // its time is over every second time
  };
}

const request = (signal: AbortSignal = new AbortController().signal) => ({
  socketPath: '/run/daemon.socket',
  path: '/rpc.TerwayBackend/AllocIP',
  headers: { 'content-type': 'application/json' },
  body: '{"K8sPodName":"wüb"}',
  signal,
});

test('post over streams: sent in pieces and answered in pieces, with waiting between', async (t) => {
  const streams = new Told({
    open: [-EAGAIN, 5],
    send: [10, -EAGAIN, 9_999],
    receive: [-EAGAIN, ANSWER.subarray(0, 20), -EAGAIN, -EAGAIN, ANSWER.subarray(20)],
  });
  t.strictSame(await postOverStreams(streams)(request()), { status: 200, body: '{}' });
  const [first, rest] = Buffer.concat(streams.sent).toString('utf8').split('\r\n\r\n');
  t.match(first, /^POST \/rpc\.TerwayBackend\/AllocIP HTTP\/1\.1\r\n/);
  t.match(first, /content-type: application\/json\r\n[\s\S]*content-length: 21$/, 'bytes, not letters');
  t.equal(rest, request().body);
  t.strictSame(streams.waited, ['send', 'receive', 'receive', 'receive']);
  t.equal(streams.closed, 1);
});

test('post over streams: errors have the system’s code, and the socket is closed', async (t) => {
  for (const [said, code, closed] of [
    [{ open: [-2] }, 'ENOENT', 0],
    [{ open: [-111] }, 'ECONNREFUSED', 0],
    [{ send: [-32] }, 'EPIPE', 1],
    [{ receive: [-104] }, 'ECONNRESET', 1],
  ] as const) {
    const streams = new Told(Object.fromEntries(Object.entries(said).map(([of, all]) => [of, [...all]])));
    await t.rejects(postOverStreams(streams)(request()), { code });
    t.equal(streams.closed, closed, code);
  }
  await t.rejects(postOverStreams(new Told({ receive: [0] }))(request()), /no HTTP answer/);
});

test('post over streams: who waits for a daemon that is silent is ended by the signal, with its reason', async (t) => {
  for (const said of [{ receive: [-EAGAIN] }, { open: [-EAGAIN] }, { send: [-EAGAIN] }]) {
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('SIGTERM came')), 20);
    await t.rejects(postOverStreams(new Told(said))(request(stop.signal)), /SIGTERM came/);
  }
});
