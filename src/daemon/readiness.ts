/**
 * The answer to STATUS: whether an ADD could work now, from memory alone.
 *
 * A node that is full has no fault: by default it is made unattractive to the scheduler (a taint), since a failing STATUS makes it NotReady
 * and takes its pods out of their services. Source: CNI SPEC 1.1, STATUS; issue "a full node is made unattractive, not NotReady".
 */
import type { FullNode } from '../core/kube-settings.ts';
import type { Room } from '../core/node-room.ts';
import type { StatusReply } from '../core/wire.ts';
import type { NodeReport } from '../ports/introspection.ts';

const FINE: StatusReply = { Code: 0 };
const CANNOT_ADD = 50;
const CONNECTIVITY_TOO = 51;

export function readinessOf(report: NodeReport | null, room: Room | null, fullNode: FullNode): StatusReply {
  if (report === null) return { Code: CANNOT_ADD, Message: 'the actors have not started', Passing: true };
  const why = whyNoAdd(report);
  if (why !== null) return { Code: suffering(report) ? CONNECTIVITY_TOO : CANNOT_ADD, Message: why, Passing: true };
  if (fullNode === 'status' && room?.full === true)
    return { Code: CANNOT_ADD, Message: `the node is full: ${room.why}`, Passing: false };
  return FINE;
}

/** null when an ADD could work. */
function whyNoAdd({ state, missing, store, enis }: NodeReport): string | null {
  const failing = store?.failing ?? null;
  if (failing !== null) return `the node's database cannot be written: ${failing.why}`;
  const path = state.split('.');
  if (path.includes('serving')) return null;
  const named = missing.length === 0 ? '' : `: ${missing.join('; ')}`;
  if (!path.includes('degraded')) return `the node is ${path.at(-1)}${named}`;
  const idle = enis.some(({ addresses }) => addresses.some((address) => address.state === 'idle'));
  return idle ? null : `the node is degraded and no address is free for sure${named}`;
}

/** Existing pods lack some of their network: their address is on no ENI here, or something of the host cannot be repaired. */
function suffering({ invalidLeases = [], host }: NodeReport): boolean {
  return invalidLeases.length > 0 || (host?.things ?? []).some(({ outcome }) => outcome === 'failed');
}
