/**
 * GC: whatever this network still holds for attachments that the runtime does not list is given back, and its objects leave the host.
 *
 * The runtime calls it while no ADD or DEL of the network runs. Sandboxes of other networks are untouched, and so are those of Terway's
 * plugin, which names no network. Source: CNI SPEC 1.1, GC.
 */
import type { Attachment } from '../core/wire.ts';
import { CNI_CODE, CniError, cniErrorOf } from './cni-error.ts';
import { daemonFailure } from './daemon-calls.ts';
import type { VerbContext } from './verb.ts';

/** Prints nothing. Throws CniError 7 for a list that is missing or malformed, 11 when something could not be given back or removed. */
export async function gc(context: VerbContext): Promise<null> {
  const { configuration, daemon, datapath, log, signal } = context;
  const valid = attachmentsIn(configuration.attachments);
  const { Released: released = [] } = await daemon.gc(configuration.name, valid, signal).catch((error: unknown) => {
    throw signal.aborted ? cniErrorOf(signal.reason) : daemonFailure(error, 'Gc');
  });
  const failures: unknown[] = [];
  for (const one of released) {
    const pod = { namespace: one.K8sPodNamespace ?? '', name: one.K8sPodName ?? '', uid: one.PodUid || null };
    const { ContainerId: containerId, IfName: ifName, IPs: ips = [], Netns: netns = '', OwnMacs: macs = [] } = one;
    try {
      // Of a namespace whose path is long ago, which may be another’s by now: only what is told to be ours is taken out.
      datapath.detach({ containerId, ifName, netns, network: configuration.name, pod }, { ips, macs });
      log.warn({ containerId, ifName, ips }, 'collected: the runtime knows no such attachment');
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw cniErrorOf(failures[0], CNI_CODE.tryAgainLater);
  return null;
}

/** An empty list means that nothing is valid, so that a missing one must not be taken for it. */
function attachmentsIn(value: unknown): Attachment[] {
  if (!Array.isArray(value)) throw invalid(value === undefined ? 'is missing, GC needs it' : 'is no list');
  return value.map((entry: unknown) => {
    const { containerID, ifname } = (typeof entry === 'object' && entry !== null ? entry : {}) as Record<
      string,
      unknown
    >;
    if (typeof containerID !== 'string' || containerID === '' || typeof ifname !== 'string' || ifname === '')
      throw invalid(`holds ${JSON.stringify(entry)}, which names no containerID and ifname`);
    return { ContainerId: containerID, IfName: ifname };
  });
}

function invalid(text: string): CniError {
  return new CniError(CNI_CODE.invalidConfig, `network configuration: "cni.dev/valid-attachments" ${text}`);
}
