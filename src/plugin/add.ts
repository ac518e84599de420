/**
 * ADD: look, ask, make, answer.
 *
 * What can be refused without an address is refused first. From the call on, every failure gives back: the datapath undoes
 * itself, the address is released, and the first cause is what the runtime reads. The daemon tells the pod of success; of a
 * failure in the kernel only we know, so that event is ours, after everything else and bounded.
 */
import type { BackendError } from '../adapters/http/backend-client.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { CNI_CODE, CniError, cniErrorOf } from './cni-error.ts';
import { daemonFailure } from './daemon-calls.ts';
import { dropDeletionNote, writeDeletionNote } from './deletion-notes.ts';
import { wantedFrom } from './net-conf.ts';
import { parsePodArgs } from './pod-args.ts';
import type { OpenPod } from './pod-datapath.ts';
import { type AddOutcome, addResult, earlierIn } from './result.ts';
import { refuseOwnNetns, sandboxOf, stopIfAsked, type VerbContext } from './verb.ts';

/** The result to print. Throws CniError. */
export async function add(context: VerbContext): Promise<Record<string, unknown>> {
  const { invocation, configuration, datapath } = context;
  const sandbox = sandboxOf(context, parsePodArgs(invocation.args));
  const earlier = earlierIn(configuration.prevResult);
  if (earlier === null) throw new CniError(CNI_CODE.decodeFailure, '"prevResult" is no result of ADD');
  refuseOwnNetns(context);
  const pod = datapath.open(sandbox.netns);
  try {
    refuseTaken(pod, sandbox);
    dropDeletionNote(configuration.dataDir, sandbox);
    stopIfAsked(context);
    return addResult(configuration.cniVersion, await allocateAndAttach(context, sandbox, pod), earlier);
  } finally {
    pod.close();
  }
}

async function allocateAndAttach(context: VerbContext, sandbox: Sandbox, pod: OpenPod): Promise<AddOutcome> {
  const { daemon, datapath, configuration, log } = context;
  const reply = await daemon.alloc(sandbox, context.signal).catch(async (error: BackendError) => {
    const cause = context.signal.aborted ? cniErrorOf(context.signal.reason) : daemonFailure(error, 'AllocIP');
    // An answer that was lost may have been a grant; the daemon's own refusal and a call that never arrived were none.
    if (['broken', 'canceled', 'deadline_exceeded'].includes(error.code)) await giveBack(context, sandbox, cause);
    throw cause;
  });
  try {
    stopIfAsked(context);
    const wanted = wantedFrom(reply, sandbox, configuration);
    const made = pod.attach(wanted);
    log.debug({ ...made, ips: wanted.ips, routeTable: wanted.routeTable }, 'pod attached');
    const { ips, defaultRoute, mtu } = wanted;
    const { ifName, netns } = sandbox;
    return { ...made, ips, mtu, defaultRoute, ifName, netns, gateway: datapath.gateway };
  } catch (error) {
    // Another ADD of this very sandbox was faster (they look before they ask, so both found nothing): it lives by the same lease.
    if (pod.isMade(sandbox)) {
      const { ifName, netns } = sandbox;
      throw new CniError(CNI_CODE.tryAgainLater, `another ADD has made ${ifName} in ${netns} meanwhile`, '', error);
    }
    const cause = cniErrorOf(error, CNI_CODE.tryAgainLater);
    await giveBack(context, sandbox, cause);
    await daemon.failed(sandbox, cause.message);
    throw cause;
  }
}

/** Never throws: what goes wrong here is logged, and the runtime's DEL will come too. */
async function giveBack(context: VerbContext, sandbox: Sandbox, cause: CniError): Promise<void> {
  const { daemon, configuration, log, nowMs } = context;
  try {
    await daemon.release(sandbox, `roll back ip for error: ${cause.message}`);
  } catch (error) {
    log.warn({ error: String(error), containerId: sandbox.containerId }, 'roll-back could not release the address');
    try {
      writeDeletionNote(configuration.dataDir, sandbox, nowMs());
    } catch (noteError) {
      log.warn({ error: String(noteError) }, 'nor leave a note');
    }
  }
}

function refuseTaken(pod: OpenPod, { ifName, netns }: Sandbox): void {
  if (!pod.hasInterface(ifName)) return;
  throw new CniError(CNI_CODE.interfaceExists, `interface ${ifName} exists in ${netns} already and is left untouched`);
}
