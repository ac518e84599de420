/**
 * STATUS: whether an ADD could work now. The daemon says so from what it has in memory; no cloud is asked.
 *
 * A daemon that is away, or not ready yet, is excused for a minute after its last heartbeat: kubelet makes a node NotReady whose STATUS
 * fails, and an upgrade is no reason for that. Source: CNI SPEC 1.1, STATUS; cases/field P5.
 */
import { readFileSync } from 'node:fs';
import { HEARTBEAT_NAME, isRecent, parseHeartbeat } from '../core/heartbeat.ts';
import type { StatusReply } from '../core/wire.ts';
import { CNI_CODE, CniError, cniErrorOf } from './cni-error.ts';
import type { VerbContext } from './verb.ts';

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

/** Prints nothing. Throws CniError 50, or 51 when existing pods lack some of their network too. */
export async function status(context: VerbContext): Promise<null> {
  const { configuration, daemon, log, nowMs, signal } = context;
  const said: StatusReply = await daemon.status(configuration.name, signal).catch((error: unknown) => {
    if (signal.aborted) throw cniErrorOf(signal.reason);
    const message = error instanceof Error ? error.message : String(error);
    return { Code: CNI_CODE.notAvailable, Message: message, Passing: true };
  });
  const { Code: code = 0, Message: message = 'an ADD cannot be served', Passing: passing = false } = said;
  if (code === 0) return null;
  if (passing && wasFineLately(configuration.dataDir, nowMs())) {
    log.debug({ code, message }, 'excused by the heartbeat');
    return null;
  }
  throw new CniError(
    code === CNI_CODE.limitedConnectivity ? CNI_CODE.limitedConnectivity : CNI_CODE.notAvailable,
    message,
  );
}

/** What cannot be read is no heartbeat. */
function wasFineLately(dataDir: string, nowMs: number): boolean {
  try {
    const beat = parseHeartbeat(readFileSync(`${dataDir}/${HEARTBEAT_NAME}`, 'utf8'));
    return beat !== null && isRecent(beat, nowMs, readFileSync(BOOT_ID_FILE, 'utf8').trim());
  } catch {
    return false;
  }
}
