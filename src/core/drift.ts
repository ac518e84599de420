/**
 * What the host, or the cloud, holds otherwise than we want it.
 *
 * `object` names one thing and is the same text each time, so that repairs of it can be counted and spaced.
 */
export const DRIFT_KINDS = [
  'eniDevice', // no device has the ENI's MAC
  'eniDown',
  'eniMtu',
  'eniSetting',
  'eniAddress', // the node's own address, as /32
  'foreignAddress',
  'eniRoute',
  'foreignRoute',
  'podDevice', // the host end of a pod is gone, and with it the pod's own
  'podDown',
  'podSetting',
  'podRoute',
  'podRule',
  'hostSetting', // forwarding, or what keeps an advertised default route
  'nodeFilter', // the table of nf_tables for the node as a whole
  'replyPath', // the rule that sends answers back by the primary interface
  'leftover', // of a sandbox that is no more
  'cloudAddress', // the addresses of an ENI, by OpenAPI and by the metadata service
  'cloudEni', // an ENI that is not attached here any more, by both
] as const;
export type DriftKind = (typeof DRIFT_KINDS)[number];

/** `heldOff`: repaired lately, and its wait is not over. `beyondRepair`: nothing that we may do would help. */
export type DriftOutcome = 'repaired' | 'heldOff' | 'beyondRepair' | 'failed';

export type Drift = {
  readonly kind: DriftKind;
  readonly object: string;
  /** `namespace/name`, for what is a pod's. */
  readonly pod: string | null;
  readonly outcome: DriftOutcome;
  /** Who did it, as far as it can be told; or why it cannot be repaired. */
  readonly detail: string | null;
};
