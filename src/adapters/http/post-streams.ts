/**
 * One POST over a unix socket by the C library's own calls, for the compiled plugin: Bun's fetch would start a thread for it, which on a busy node is
 * scheduled late three times a call.
 *
 * It blocks the thread while it waits, since a plugin has nothing else to do; every slice of time, and at once when a signal comes, the event loop gets
 * its turn, so that a deadline or the runtime's SIGTERM ends the waiting.
 */
import { EAGAIN, EINTR, errnoName } from '../netlink/errno.ts';
import type { Post, PostRequest } from './backend-client.ts';
import { answerIn } from './http-answer.ts';
import type { UnixStreams } from './unix-streams.ts';

const FIRST_SLICE_MS = 10;
const SLICE_MAX_MS = 100;
/** The daemon's line of callers is full (`listen`'s backlog): asked again after so long. */
const LINE_FULL_MS = 5;
const RECEIVE_BYTES = 65_536;

export function postOverStreams(streams: UnixStreams): Post {
  return async (request) => {
    const { socketPath, signal } = request;
    const fd = await connected(streams, socketPath, signal);
    try {
      const bytes = bytesOf(request);
      for (let sent = 0; sent < bytes.length; ) {
        const now = await whenReady(streams, fd, 'send', signal, () => streams.send(fd, bytes.subarray(sent)));
        sent += now;
      }
      let received = Buffer.alloc(0);
      const buffer = Buffer.alloc(RECEIVE_BYTES);
      for (;;) {
        const size = await whenReady(streams, fd, 'receive', signal, () => streams.receive(fd, buffer));
        received = Buffer.concat([received, buffer.subarray(0, size)]);
        const answer = answerIn(received, size === 0);
        if (answer !== null) return answer;
      }
    } finally {
      streams.close(fd);
    }
  };
}

function bytesOf({ path, headers, body }: PostRequest): Buffer {
  const content = Buffer.from(body, 'utf8');
  const own = { host: 'daemon', connection: 'close', 'content-length': `${content.length}` };
  const lines = Object.entries({ ...headers, ...own }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content]);
}

async function connected(streams: UnixStreams, path: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    signal.throwIfAborted();
    const fd = streams.streamTo(path);
    if (fd >= 0) return fd;
    if (fd !== -EAGAIN && fd !== -EINTR) throw systemError(-fd, `connect ${path}`);
    await pause(LINE_FULL_MS);
  }
}

/** The call's result once it has one. */
async function whenReady(
  streams: UnixStreams,
  fd: number,
  to: 'send' | 'receive',
  signal: AbortSignal,
  call: () => number,
): Promise<number> {
  for (let sliceMs = FIRST_SLICE_MS; ; sliceMs = Math.min(2 * sliceMs, SLICE_MAX_MS)) {
    signal.throwIfAborted();
    const result = call();
    if (result >= 0) return result;
    if (result !== -EAGAIN && result !== -EINTR) throw systemError(-result, to);
    const ready = streams.wait(fd, to, sliceMs);
    if (ready < 0 && ready !== -EINTR) throw systemError(-ready, 'poll');
    if (ready <= 0) await pause(0);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function systemError(errno: number, what: string): Error {
  const code = errnoName(errno);
  return Object.assign(new Error(`${code}: ${what}`), { code });
}
