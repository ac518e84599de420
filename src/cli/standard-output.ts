/**
 * What `enactor` writes reaches its reader whole, or the exit code says that it did not.
 *
 * A pipe is drained before the process ends: `process.exit` alone would cut it at what the kernel had taken, 64 KiB. A reader that
 * has enough (`head -1`) ends us without a word, with the code that shells give to a program that SIGPIPE ended; a full disk is told.
 * Not told apart: a standard output that was closed before we began is `/dev/null` by the time that Node lets us look.
 * Source: nodejs/node issue 19218; cases/bugs B55.
 */
import { EXIT } from './exit-codes.ts';

const lost = new AbortController();
let lostTo: NodeJS.ErrnoException | null = null;

/** Fires when nobody takes what is written any more: what runs for ever ends then. */
export const outputLost: AbortSignal = lost.signal;

/** To be called once, before anything is written. */
export function watchStandardOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    lostTo ??= error;
    lost.abort();
  });
  // Where complaints go is nobody's business when they cannot be delivered.
  process.stderr.on('error', () => {});
}

/** Resolves when all that was written has left; with the exit code that this makes of the command's own. */
export async function drained(exitCode: number): Promise<number> {
  await written(process.stdout);
  const code = exitCode === EXIT.ok && lostTo !== null ? afterLoss(lostTo) : exitCode;
  await written(process.stderr);
  return code;
}

function afterLoss(error: NodeJS.ErrnoException): number {
  if (error.code === 'EPIPE') return EXIT.brokenPipe;
  process.stderr.write(`enactor: the output could not be written: ${error.message}\n`);
  return EXIT.failed;
}

async function written(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.destroyed) return;
  await new Promise<void>((resolve) => {
    stream.once('close', resolve);
    stream.write('', () => resolve());
  });
}
