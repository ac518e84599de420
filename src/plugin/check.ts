/**
 * CHECK: the daemon's lease, prevResult and the kernel agree, and the address is still the node's. Repairs nothing. Of a pod that Terway's plugin
 * made and the daemon has taken over, its objects are what the kernel is asked for (verify-terway-pod.ts). Source: CNI SPEC 1.1, CHECK.
 */
import { BackendError } from '../adapters/http/backend-client.ts';
import { canonicalIp } from '../core/ip.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type { GetInfoReply } from '../core/wire.ts';
import { CNI_CODE, CniError, cniErrorOf } from './cni-error.ts';
import { daemonFailure } from './daemon-calls.ts';
import { wantedFrom } from './net-conf.ts';
import { parsePodArgs } from './pod-args.ts';
import type { PodWanted } from './pod-datapath.ts';
import { addressesIn } from './result.ts';
import { refuseOwnNetns, sandboxOf, type VerbContext } from './verb.ts';

/** Throws CniError; 100 names the first thing that is missing. */
export async function check(context: VerbContext): Promise<null> {
  const { invocation, configuration, datapath } = context;
  const sandbox = sandboxOf(context, parsePodArgs(invocation.args));
  refuseOwnNetns(context);
  const previous = previousAddresses(configuration.prevResult);
  const pod = datapath.open(sandbox.netns);
  try {
    const { wanted, knownAs } = await leased(context, sandbox);
    const unlisted = wanted.ips.find((ip) => !previous.includes(ip));
    if (unlisted !== undefined) throw missing(`address ${unlisted} of the lease in prevResult`);
    const absent = pod.verify(wanted);
    if (absent !== null) throw missing(absent);
    const [problem] = await context.daemon
      .problems({ ...sandbox, containerId: knownAs }, context.signal)
      .catch((error: unknown) => {
        throw context.signal.aborted ? cniErrorOf(context.signal.reason) : daemonFailure(error, 'Check');
      });
    if (problem !== undefined) throw missing(problem);
    return null;
  } finally {
    pod.close();
  }
}

async function leased(context: VerbContext, sandbox: Sandbox): Promise<{ wanted: PodWanted; knownAs: string }> {
  const found = context.datapath.terwayAddresses(sandbox);
  const reply: GetInfoReply = await context.daemon.info(sandbox, context.signal, found).catch((error: unknown) => {
    if (context.signal.aborted) throw cniErrorOf(context.signal.reason);
    if (error instanceof BackendError && error.code === 'not_found') return {};
    throw daemonFailure(error, 'GetIPInfo');
  });
  if ((reply.NetConfs ?? []).length === 0) throw missing(`lease of container ${sandbox.containerId}`);
  const wanted = wantedFrom(reply, sandbox, context.configuration);
  return { wanted, knownAs: reply.ContainerId || sandbox.containerId };
}

function previousAddresses(prevResult: unknown): string[] {
  if (prevResult === undefined) {
    throw new CniError(CNI_CODE.invalidConfig, 'network configuration: "prevResult" is missing, CHECK needs it');
  }
  const addresses = addressesIn(prevResult);
  if (addresses === null) throw new CniError(CNI_CODE.decodeFailure, '"prevResult" is no result of ADD');
  return addresses.map((address) => canonicalIp(address) ?? address);
}

function missing(what: string): CniError {
  return new CniError(CNI_CODE.checkFailed, `missing: ${what}`);
}
