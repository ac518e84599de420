/** Waiting for what has to come, however slow the machine: a limit that is generous, and a sentence when it is over. */
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 60_000;
const POLL_MS = 100;

export async function until(what: string, holds: () => Promise<boolean>, timeoutMs = PATIENCE_MS): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not in time: ${what}`);
    await sleep(POLL_MS);
  }
}
