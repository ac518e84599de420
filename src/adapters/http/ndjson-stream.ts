/**
 * One JSON object a line over a chunked answer, for as long as its reader takes them.
 *
 * What comes in one turn of the loop goes out in one write: an event leads to a dozen others, and a system call for each would cost more than
 * all the rest. Whoever writes never waits: what a reader does not take is queued up to a bound, and then the reader is cut off. So a reader that
 * was stopped, or has died without closing, costs the daemon a bounded piece of memory and no time.
 * Source: cases/bugs B57.
 */
import type { ServerResponse } from 'node:http';

/** Bytes that may wait for one reader, beside what the kernel holds. */
export const STREAM_QUEUE_BYTES = 1024 * 1024;
/** An empty line tells the reader that we live, and us that it does: a silent stream would never notice a dead one. */
const HEARTBEAT_MS = 10_000;

export type Feed = (line: (value: string) => void) => () => void;

/** Writes what `feed` gives until the reader goes or is cut; `onCut` hears of the latter. */
export function streamLines(response: ServerResponse, feed: Feed, onCut: () => void): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  response.flushHeaders();
  let stop: (() => void) | null = null;
  let ended = false;
  let waiting = '';
  const beat = setInterval(() => write('\n'), HEARTBEAT_MS);
  beat.unref();
  const end = (): void => {
    ended = true;
    waiting = '';
    clearInterval(beat);
    stop?.();
  };
  const write = (text: string): void => {
    if (ended) return;
    if (waiting === '') setImmediate(flush);
    waiting += text;
    if (response.writableLength + waiting.length <= STREAM_QUEUE_BYTES) return;
    end();
    response.destroy();
    onCut();
  };
  const flush = (): void => {
    if (ended) return;
    response.write(waiting);
    waiting = '';
  };
  response.once('close', end);
  stop = feed((line) => write(`${line}\n`));
  if (ended) stop();
}
