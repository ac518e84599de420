/** Work that never ends by itself: until Ctrl-C, until it is told to end, or until nobody reads its output. */
import { EXIT } from './exit-codes.ts';
import { outputLost } from './standard-output.ts';

/** Runs `work` until one of these fires its signal; resolves with the exit code, rejects with what `work` rejects with. */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, interrupt);
  try {
    await work(AbortSignal.any([interrupted.signal, outputLost]));
  } finally {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(name, interrupt);
  }
  return interrupted.signal.aborted ? EXIT.interrupted : EXIT.ok;
}
