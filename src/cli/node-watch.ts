/**
 * One node on the whole screen. What it shows is read twice a second; what happens comes as a stream in between, so that the node is
 * asked for little. The screen is the terminal's second one: when we end, whatever was there before is there again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { eniBlock } from '../lab/view/node-lines.ts';
import { type Paint, paintFor } from '../lab/view/paint.ts';
import { Screen } from '../lab/view/screen.ts';
import { forHowLong, nodeWord } from '../lab/view/words.ts';
import type { Inspected } from '../ports/inspected.ts';
import type { NodeReport } from '../ports/introspection.ts';
import { CommandError } from './exit-codes.ts';
import { askNode, nodeLines } from './node-client.ts';
import { eventLine, eventStates } from './node-events.ts';
import { poolLine } from './node-status.ts';

const READ_MS = 500;
/** Lines of what happened that are kept; as many are shown as there is room for. */
const RECENT_MAX = 200;
const SECOND_SCREEN = '\x1b[?1049h\x1b[H';
const FIRST_SCREEN = '\x1b[?1049l';

/** Resolves when `signal` fires or the user has had enough; rejects with CommandError when the daemon does not answer any more. */
export async function watchNode(socketPath: string, signal: AbortSignal): Promise<void> {
  await askNode(socketPath, '/v1'); // where nobody answers the screen stays as it is
  const enough = new AbortController();
  const end = AbortSignal.any([signal, enough.signal]);
  const out = process.stdout;
  const screen = new Screen(out);
  const recent: string[] = [];
  const resized = (): void => screen.forget();
  const release = keys(() => enough.abort());
  out.write(SECOND_SCREEN);
  out.on('resize', resized);
  try {
    await Promise.race([listening(socketPath, recent, end), drawing(socketPath, recent, screen, end)]);
  } finally {
    enough.abort();
    out.off('resize', resized);
    release();
    screen.end();
    out.write(FIRST_SCREEN);
  }
}

/** A stream that is cut, or a daemon that is starting, is listened to again. */
async function listening(socketPath: string, recent: string[], signal: AbortSignal): Promise<void> {
  const paint = paintFor(process.stdout);
  while (!signal.aborted) {
    const states = eventStates();
    try {
      for await (const text of nodeLines(socketPath, '/v1/streams/inspection', signal)) {
        const event = JSON.parse(text) as Inspected;
        const line = eventLine(event, states, paint);
        if (line === null || event.kind === 'actor') continue;
        recent.push(line);
        if (recent.length > RECENT_MAX) recent.splice(0, recent.length - RECENT_MAX);
      }
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
    }
    await sleep(READ_MS, undefined, { signal }).catch(() => {});
  }
}

async function drawing(
  socketPath: string,
  recent: readonly string[],
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  const paint = paintFor(process.stdout);
  while (!signal.aborted) {
    const report = await askNode<NodeReport>(socketPath, '/v1/report');
    if (signal.aborted) return;
    screen.draw(
      watchLines(report, { socketPath, recent, paint, nowMs: Date.now(), columns: screen.columns, rows: screen.rows }),
    );
    await sleep(READ_MS, undefined, { signal }).catch(() => {});
  }
}

export type WatchView = {
  readonly socketPath: string;
  readonly recent: readonly string[];
  readonly paint: Paint;
  readonly nowMs: number;
  readonly columns: number;
  readonly rows: number;
};

/** No taller than the screen: what happened gets what is left, and at least a few lines. */
export function watchLines(
  report: NodeReport,
  { socketPath, recent, paint, nowMs, columns, rows }: WatchView,
): string[] {
  const state = nodeWord(report.state);
  const hue = state === 'serving' ? 'green' : 'yellow';
  const missing = report.missing.length === 0 ? '' : `  missing: ${report.missing.join('; ')}`;
  const head = [
    `${paint('bold', 'enactor watch')}  ${paint(hue, state)}  ${paint('gray', socketPath)}${missing}`,
    ...(report.pool === null ? [] : [poolLine(report.pool, paint)]),
    '',
  ];
  const enis = report.enis.flatMap((eni) => eniBlock(eni, nowMs, columns, paint));
  const waiting = [
    ...report.waiting.map(
      ({ pod, sinceMs, reason }) =>
        `${paint('yellow', 'waits')}    ${pod} for ${forHowLong(nowMs - sinceMs)}: ${reason}`,
    ),
    ...(report.refusals ?? []).map(
      ({ pod, atMs, detail }) => `${paint('yellow', 'refused')}  ${pod} ${forHowLong(nowMs - atMs)} ago: ${detail}`,
    ),
  ];
  const RECENT_LEAST = 4;
  const foot = paint('gray', 'Ctrl-C or q ends it');
  const room = Math.max(0, rows - 1 - head.length - 3 - RECENT_LEAST);
  const body = [
    ...(enis.length === 0 ? [paint('gray', '  no ENI yet')] : enis),
    ...(waiting.length === 0 ? [] : ['', ...waiting]),
  ];
  const shown =
    body.length <= room
      ? body
      : [...body.slice(0, Math.max(0, room - 1)), paint('gray', `  … ${body.length - room + 1} more lines`)];
  const above = [...head, ...shown, '', paint('bold', 'what happens')];
  const left = Math.max(0, rows - 2 - above.length);
  const last = recent.slice(-left);
  return [...above, ...last, ...Array<string>(Math.max(0, left - last.length)).fill(''), foot];
}

/** Calls `enough` on q and Ctrl-C, which a terminal in raw mode gives as keys. */
function keys(enough: () => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => {};
  const pressed = (key: Buffer): void => {
    if (key.includes('q') || key.includes(0x03)) enough();
  };
  stdin.setRawMode(true);
  stdin.resume();
  stdin.on('data', pressed);
  return () => {
    stdin.off('data', pressed);
    stdin.setRawMode(false);
    stdin.pause();
  };
}
