/**
 * DEL: give the address back, then take the pod's objects away. What is unknown or gone is done.
 *
 * The address goes first: its cool-down is longer than the tear-down, and the reply tells which rules to take. With the
 * daemon silent the objects go all the same and a note is left for it; an answer that is an error lets the runtime try again.
 * Source: CNI SPEC 1.1, DEL; design, "Who owns what".
 */
import { BackendError } from '../adapters/http/backend-client.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type { ReleaseIPReply } from '../core/wire.ts';
import { CNI_CODE, cniErrorOf } from './cni-error.ts';
import { daemonFailure } from './daemon-calls.ts';
import { writeDeletionNote } from './deletion-notes.ts';
import { addressesIn, ownMacsIn } from './net-conf.ts';
import { readPodArgs } from './pod-args.ts';
import type { Held } from './pod-datapath.ts';
import { refuseOwnNetns, sandboxOf, type VerbContext } from './verb.ts';

const REASON = 'normal release';
const NOTHING: Held = { ips: [], macs: null };

/** Prints nothing. Throws CniError. */
export async function del(context: VerbContext): Promise<null> {
  const sandbox = sandboxOf(context, readPodArgs(context.invocation.args));
  const failures: unknown[] = [];
  const held = await release(context, sandbox).catch((error: unknown): Held => {
    failures.push(error);
    return NOTHING;
  });
  try {
    context.datapath.detach(sandbox, held);
  } catch (error) {
    failures.push(error);
  }
  if (failures.length > 0) throw cniErrorOf(failures[0], CNI_CODE.tryAgainLater);
  refuseOwnNetns(context); // only now: the address must not stay booked for a namespace that was wrong all along
  return null;
}

/** What the sandbox held, as far as the daemon knows. */
async function release(context: VerbContext, sandbox: Sandbox): Promise<Held> {
  const { configuration, datapath, log, nowMs } = context;
  try {
    const { reply, found } = await released(context, sandbox);
    const macs = ownMacsIn(reply, sandbox.ifName);
    const told = addressesIn(reply, sandbox.ifName);
    // The runtime itself names the namespace: a physical device of that name in it is the pod's, also one that the daemon's mode knows nothing of.
    return { ips: told.length === 0 ? found : told, macs: macs.length === 0 ? null : macs };
  } catch (error) {
    if (!(error instanceof BackendError)) throw error;
    if (error.code === 'not_found') return NOTHING;
    if (!SILENT.includes(error.code)) throw daemonFailure(error, 'ReleaseIP');
    writeDeletionNote(configuration.dataDir, sandbox, nowMs());
    log.warn({ error: error.message, containerId: sandbox.containerId }, 'deletion noted for the daemon');
    // Of our own the devices bear what is needed.
    return { ...NOTHING, ips: datapath.terwayAddresses(sandbox) };
  }
}

/**
 * A sandbox that the daemon took over without its container id is known by what its namespace has, which only we can see. `found`: what a pod of Terway's has
 * there of which the daemon knows nothing.
 */
async function released(
  { daemon, datapath, signal }: VerbContext,
  sandbox: Sandbox,
): Promise<{ readonly reply: ReleaseIPReply; readonly found: readonly string[] }> {
  const reply = await daemon.release(sandbox, REASON, signal);
  if ((reply.NetConfs ?? []).length > 0) return { reply, found: [] };
  const found = datapath.terwayAddresses(sandbox);
  if (found.length === 0 || reply.Unnamed !== true) return { reply, found };
  return { reply: await daemon.release(sandbox, REASON, signal, found), found };
}

/** Nobody answered, or nobody will in time. A note about what was done after all does no harm. */
const SILENT: readonly string[] = ['unreachable', 'broken', 'deadline_exceeded', 'canceled'];
