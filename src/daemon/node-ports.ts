/** The real world for the actors: each port with its adapter. */

import { readLeases } from '../../actors/leases-on-disk.ts';
import type { NodePorts } from '../../actors/ports.ts';
import { systemClock } from '../adapters/clock/steady-clock.ts';
import { HostKernel } from '../adapters/datapath/host-kernel.ts';
import { HostSandboxes } from '../adapters/datapath/host-sandboxes.ts';
import { hostWitness } from '../adapters/datapath/host-witness.ts';
import { exclusiveCloud, exclusiveMetadata } from '../adapters/exclusive/exclusive-cloud.ts';
import { exclusiveKernel } from '../adapters/exclusive/exclusive-kernel.ts';
import type { RootLog } from '../adapters/logging/json-log.ts';
import { openKoffiLibc } from '../adapters/netlink/libc-koffi.ts';
import { podCidrCloud, podCidrMetadata } from '../adapters/pod-cidr/pod-cidr-cloud.ts';
import { podCidrSource } from '../adapters/pod-cidr/pod-cidr-facts.ts';
import { podCidrKernel } from '../adapters/pod-cidr/pod-cidr-kernel.ts';
import type { Config } from '../core/config.ts';
import type { LackingChain } from '../core/host-needs.ts';
import type { Kubernetes } from '../ports/kubernetes.ts';
import type { Store } from '../ports/store.ts';
import type { CloudAccess } from './cloud-access.ts';
import { systemEntropy } from './entropy.ts';
import type { Flags } from './flags.ts';
import { terwayPredecessor } from './terway-predecessor.ts';

export type NodePortsParts = {
  readonly flags: Flags;
  /** At the start. */
  readonly config: Config;
  readonly access: CloudAccess;
  readonly store: Store;
  readonly kubernetes: Kubernetes;
  readonly log: RootLog;
};

export type RealPorts = NodePorts & {
  /** Makes the host ready for pods that have an ENI of their own beside those that share one; null where none may. */
  readonly serveOwnEnis: (() => void) | null;
  /** Kinds of chains that the kernel does not take; null where it cannot be asked. */
  readonly lackingChains: () => readonly LackingChain[] | null;
};

export function nodePorts({ flags, config, access, store, kubernetes, log }: NodePortsParts): RealPorts {
  const { cloud, metadata } = access;
  const libc = openKoffiLibc();
  const host = hostWitness(libc, flags.bootIdFile);
  const sandboxes = new HostSandboxes(libc);
  const kernel = new HostKernel(libc, {
    eniKinds: config.eniLinkKinds,
    ipv6: config.settings.ipStack === 'dual',
    replyPaths: config.replyPaths,
    blockPodMetadata: config.blockPodMetadata,
  });
  if (config.ipvlan) kernel.masqueradeServices();
  const shared = {
    cloud,
    metadata,
    store,
    kernel,
    host,
    kubernetes,
    sandboxes,
    clock: systemClock,
    entropy: systemEntropy,
    log: log.part('actors'),
    ...(flags.terwayDb !== null && {
      predecessor: terwayPredecessor({
        path: flags.terwayDb,
        kubernetes,
        nodeName: flags.nodeName,
        log: log.part('takeover'),
      }),
    }),
    serveOwnEnis: null,
    lackingChains: () => kernel.lackingChains(),
  };
  if (config.daemonMode === 'VPC') return { ...shared, ...podCidrPorts(kernel, kubernetes, flags, config) };
  if (config.daemonMode === 'ENIOnly') return { ...shared, ...exclusivePorts(shared, kernel) };
  return { ...shared, serveOwnEnis: () => kernel.serveOwnEnis() };
}

/** Mode ENIOnly: an ENI has room for one pod, and its device goes to it. */
function exclusivePorts(
  { cloud, metadata, store }: Pick<NodePorts, 'cloud' | 'metadata' | 'store'>,
  kernel: HostKernel,
): Pick<NodePorts, 'cloud' | 'metadata' | 'kernel'> {
  const heldMacs = async () => {
    const { leases } = await readLeases(store);
    return new Set(leases.map(({ grant }) => grant.eni.mac.toLowerCase()));
  };
  return {
    cloud: exclusiveCloud(cloud),
    metadata: exclusiveMetadata(metadata),
    kernel: exclusiveKernel(kernel, heldMacs),
  };
}

/** Mode VPC: neither cloud nor metadata is asked. */
function podCidrPorts(
  kernel: HostKernel,
  kubernetes: Kubernetes,
  { nodeName }: Flags,
  { settings, podRange }: Config,
): Pick<NodePorts, 'cloud' | 'metadata' | 'kernel'> {
  const source = podCidrSource(kubernetes, nodeName, settings.ipStack === 'dual');
  return {
    cloud: podCidrCloud(source),
    metadata: podCidrMetadata(source),
    kernel: podCidrKernel(kernel, source, podRange),
  };
}
