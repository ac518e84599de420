/**
 * What the daemon leaves behind while ADD can work, so that STATUS does not fail while it is being restarted or upgraded: a failing STATUS
 * makes the node NotReady and takes its pods out of their services, for a daemon that is back within seconds.
 *
 * It counts within the boot that wrote it only: what worked before a reboot says nothing. Source: cases/field P5.
 */
export const HEARTBEAT_NAME = 'heartbeat';
export const HEARTBEAT_PERIOD_MS = 5_000;
/** How long after the last heartbeat a node is taken for one that can serve. */
export const HEARTBEAT_GRACE_MS = 60_000;
/** A clock that was set back a little is no reason to doubt. */
const CLOCK_SKEW_MS = 5_000;

export type Heartbeat = { readonly version: 1; readonly atMs: number; readonly bootId: string };

/** null for what is no heartbeat. */
export function parseHeartbeat(text: string): Heartbeat | null {
  try {
    const beat = JSON.parse(text) as Partial<Heartbeat> | null;
    if (typeof beat !== 'object' || beat === null || beat.version !== 1) return null;
    return typeof beat.atMs === 'number' && typeof beat.bootId === 'string' ? (beat as Heartbeat) : null;
  } catch {
    return null;
  }
}

export function isRecent({ atMs, bootId }: Heartbeat, nowMs: number, currentBootId: string): boolean {
  const ageMs = nowMs - atMs;
  return bootId === currentBootId && ageMs >= -CLOCK_SKEW_MS && ageMs <= HEARTBEAT_GRACE_MS;
}
