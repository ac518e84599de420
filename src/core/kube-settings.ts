/** The keys of the configuration that say what the node's object, its pods and the kubelet are told, and what they become. */
import { z } from 'zod';
import { duration, period } from './duration-key.ts';
import { unsaid } from './unsaid.ts';

/** How a node that can give out no more addresses is made unattractive: by a taint, by a failing STATUS (NotReady), or not at all. */
export type FullNode = 'taint' | 'status' | 'ignore';

export type KubeSettings = {
  readonly fullNode: FullNode;
  /** A node that was full is said to have room after room has lasted so long, or at once when several addresses are free. */
  readonly fullNodeHoldMs: number;
  /** Pods are annotated with their addresses. */
  readonly patchPodIps: boolean;
  /** The extended resource that counts the node's addresses; null for none. */
  readonly addressResource: string | null;
  /** `aliyun/eni` is offered to the kubelet, one for each ENI that the node may have. */
  readonly eniDevicePlugin: boolean;
  /** A pod that has waited so long for its address is told why by an event. */
  readonly eventAfterMs: number;
  /** What was written to the node's object is compared with it, and its condition refreshed, at least this often. */
  readonly nodePeriodMs: number;
  /** Between two writes to the node's object at least. */
  readonly nodeWriteMs: number;
};

export const defaultKubeSettings: KubeSettings = {
  fullNode: 'taint',
  fullNodeHoldMs: 60_000,
  patchPodIps: true,
  addressResource: null,
  eniDevicePlugin: false,
  eventAfterMs: 10_000,
  nodePeriodMs: 300_000,
  nodeWriteMs: 5_000,
};

/** A name with a domain that is not Kubernetes' own. Source: Kubernetes, extended resources. */
const RESOURCE_NAME =
  /^(?!([a-z0-9.-]+\.)?kubernetes\.io\/)[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;

export const kubeKeys = {
  full_node: z.enum(['taint', 'status', 'ignore']).default(defaultKubeSettings.fullNode),
  full_node_hold: duration.optional(),
  enable_patch_pod_ips: unsaid(z.boolean()),
  address_resource: z
    .string()
    .refine((name) => name === '' || RESOURCE_NAME.test(name), 'is no name of an extended resource (domain/name)')
    .default(''),
  eni_device_plugin: z.boolean().default(defaultKubeSettings.eniDevicePlugin),
  disable_device_plugin: unsaid(z.boolean()),
  event_after: period.optional(),
  node_period: period.optional(),
  node_write_interval: period.optional(),
};

const file = z.object(kubeKeys);
export type KubeKeys = z.infer<typeof file>;

/** @param scaled divides a duration by the factor `speed`; the second argument stands in for one that is not said */
export function kubeSettingsOf(
  keys: KubeKeys,
  scaled: (ms: number | undefined, otherwise: number) => number,
): KubeSettings {
  const defaults = defaultKubeSettings;
  return {
    fullNode: keys.full_node,
    fullNodeHoldMs: scaled(keys.full_node_hold, defaults.fullNodeHoldMs),
    patchPodIps: keys.enable_patch_pod_ips ?? defaults.patchPodIps,
    addressResource: keys.address_resource === '' ? null : keys.address_resource,
    eniDevicePlugin: keys.eni_device_plugin && keys.disable_device_plugin !== true,
    eventAfterMs: scaled(keys.event_after, defaults.eventAfterMs),
    nodePeriodMs: scaled(keys.node_period, defaults.nodePeriodMs),
    nodeWriteMs: scaled(keys.node_write_interval, defaults.nodeWriteMs),
  };
}
