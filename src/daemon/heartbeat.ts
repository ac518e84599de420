/** Keeps the heartbeat (core/heartbeat.ts) fresh while an ADD could work. A disk that is full costs only the grace. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HEARTBEAT_NAME, type Heartbeat } from '../core/heartbeat.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

export type HeartbeatParts = {
  readonly dataDir: string;
  readonly bootIdFile: string;
  readonly clock: Clock;
  readonly log: Log;
};

/** By a rename: a reader finds one whole. Not synced: it counts within this boot alone. Never rejects. */
export async function beat({ dataDir, bootIdFile, clock, log }: HeartbeatParts): Promise<void> {
  const path = join(dataDir, HEARTBEAT_NAME);
  const unfinished = `${path}.${process.pid}`;
  try {
    const bootId = (await readFile(bootIdFile, 'utf8')).trim();
    const heartbeat: Heartbeat = { version: 1, atMs: clock.nowMs(), bootId };
    await writeFile(unfinished, `${JSON.stringify(heartbeat)}\n`, { mode: 0o600 });
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    log.debug({ path, err: String(error) }, 'no heartbeat');
  }
}
