/**
 * ADD: look, ask, make, answer.
 *
 * What can be refused without an address is refused first. From the call on, every failure gives back: the datapath undoes
 * itself, the address is released, and the first cause is what the runtime reads. The daemon tells the pod of success; of a
 * failure in the kernel only we know, so that event is ours, after everything else and bounded.
 */
import type { BackendError } from '../adapters/http/backend-client.ts';
import { familyOf } from '../core/ip.ts';
import type { Sandbox } from '../core/sandbox.ts';
import { CNI_CODE, CniError, cniErrorOf } from './cni-error.ts';
import { daemonFailure } from './daemon-calls.ts';
import { dropDeletionNote, writeDeletionNote } from './deletion-notes.ts';
import { wantedFrom } from './net-conf.ts';
import { parsePodArgs } from './pod-args.ts';
import type { Connection, OpenPod, PodDatapath } from './pod-datapath.ts';
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
    if (made.vethInstead !== undefined) await daemon.otherwise(sandbox, insteadOfIpvlan(made.vethInstead));
    const { ips, defaultRoute, mtu, connection } = wanted;
    const { ifName, netns } = sandbox;
    const gateway = made.vethInstead === undefined ? gatewaysOf(connection, datapath.gateway) : datapath.gateway;
    return { ...made, ips, mtu, defaultRoute, ifName, netns, gateway };
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

/** What is said of a pod behind a pair although ipvlan is configured: an agent that enforces policies is set up for one of the two. */
function insteadOfIpvlan(why: string): string {
  return (
    `${why}: this pod has a veth pair although eniip_virtual_type is IPVlan. Network policies that an agent enforces on ipvlan devices (eBPF) are ` +
    'no longer enforced on it; those of an agent that filters cali devices of the host (Felix) are'
  );
}

function gatewaysOf(connection: Connection, ofPair: PodDatapath['gateway']): PodDatapath['gateway'] {
  if (connection.kind === 'veth') return ofPair;
  const told = Object.fromEntries(connection.gateways.map((ip) => [familyOf(ip), ip]));
  return { ...ofPair, ...told };
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
