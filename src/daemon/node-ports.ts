/** The real world for the actors: each port with its adapter. */

import type { NodePorts } from '../../actors/ports.ts';
import { HostKernel } from '../adapters/datapath/host-kernel.ts';
import { HostSandboxes } from '../adapters/datapath/host-sandboxes.ts';
import { hostWitness } from '../adapters/datapath/host-witness.ts';
import { ecsCloud } from '../adapters/ecs/ecs-cloud.ts';
import type { OnCall } from '../adapters/ecs/rpc-client.ts';
import type { RootLog } from '../adapters/logging/json-log.ts';
import { metadataClient } from '../adapters/metadata/metadata-client.ts';
import { metadataService } from '../adapters/metadata/metadata-service.ts';
import { openKoffiLibc } from '../adapters/netlink/libc-koffi.ts';
import { podCidrCloud, podCidrMetadata } from '../adapters/pod-cidr/pod-cidr-cloud.ts';
import { podCidrSource } from '../adapters/pod-cidr/pod-cidr-facts.ts';
import { podCidrKernel } from '../adapters/pod-cidr/pod-cidr-kernel.ts';
import type { Config } from '../core/config.ts';
import type { Kubernetes } from '../ports/kubernetes.ts';
import type { Store } from '../ports/store.ts';
import { systemClock } from './clock.ts';
import { systemEntropy } from './entropy.ts';
import type { Flags } from './flags.ts';
import { nodeCredentials } from './node-credentials.ts';

/** @param config at start @param rateLimits those that hold at the moment */
export function nodePorts(
  flags: Flags,
  config: Config,
  rateLimits: () => Config['rateLimits'],
  store: Store,
  kubernetes: Kubernetes,
  log: RootLog,
  onCall: OnCall,
): NodePorts {
  const client = metadataClient({ baseUrl: flags.metadataUrl });
  const metadata = metadataService(client);
  const region = async (signal: AbortSignal) => (await metadata.identity(signal)).regionId;
  const credentials = nodeCredentials({
    flags,
    settings: config.credentials,
    metadata: client,
    region,
    log: log.part('credentials'),
  });
  const cloud = ecsCloud({
    credentials,
    region,
    ecsEndpoint: flags.ecsEndpoint,
    vpcEndpoint: flags.vpcEndpoint,
    endpointType: flags.endpointType,
    scheme: flags.cloudScheme,
    timeoutMs: config.settings.callTimeoutMs,
    rateLimits,
    minuteMs: config.minuteMs,
    onCall,
  });
  const libc = openKoffiLibc();
  const host = hostWitness(libc, flags.bootIdFile);
  const sandboxes = new HostSandboxes(libc);
  const kernel = new HostKernel(libc, {
    eniKinds: config.eniLinkKinds,
    ipv6: config.settings.ipStack === 'dual',
    replyPaths: config.replyPaths,
  });
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
  };
  return config.daemonMode === 'VPC' ? { ...shared, ...podCidrPorts(kernel, kubernetes, flags, config) } : shared;
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
