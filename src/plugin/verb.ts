/** What a verb works with. */
import type { Sandbox } from '../core/sandbox.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import type { Configuration } from './configuration.ts';
import type { DaemonCalls } from './daemon-calls.ts';
import type { Invocation } from './invocation.ts';
import type { PluginLog } from './plugin-log.ts';
import type { PodArgs } from './pod-args.ts';
import type { PodDatapath } from './pod-datapath.ts';

export type VerbContext = {
  readonly invocation: Invocation;
  readonly configuration: Configuration;
  readonly daemon: DaemonCalls;
  readonly datapath: PodDatapath;
  readonly log: PluginLog;
  readonly nowMs: () => number;
  /** Fires when the runtime asks us to end; its reason is the CniError to answer. */
  readonly signal: AbortSignal;
};

export function sandboxOf(context: VerbContext, pod: PodArgs): Sandbox {
  const { invocation, configuration, log } = context;
  const { infraContainerId, namespace, name, uid } = pod;
  if (infraContainerId !== '' && infraContainerId !== invocation.containerId) {
    const fields = { containerId: invocation.containerId, infraContainerId };
    log.warn(fields, 'K8S_POD_INFRA_CONTAINER_ID is not CNI_CONTAINERID, which names the sandbox');
  }
  return {
    containerId: invocation.containerId,
    ifName: invocation.ifName,
    netns: invocation.netns,
    network: configuration.name,
    pod: { namespace, name, uid },
  };
}

/** Before any side effect. Source: libcni skel, code 8, which checks only afterwards. */
export function refuseOwnNetns({ invocation, datapath }: VerbContext): void {
  if (invocation.netnsOverride || !datapath.isOwnNetns(invocation.netns)) return;
  throw new CniError(CNI_CODE.invalidNetns, `CNI_NETNS ${invocation.netns} is the plugin's own network namespace`);
}

/** Throws the reason of the signal when it has fired. */
export function stopIfAsked({ signal }: VerbContext): void {
  if (signal.aborted) throw signal.reason;
}
