/**
 * How long things take, as far as sources and other clients let us estimate: from, to, in milliseconds. The simulated cloud's realistic
 * profile lies within them. The delay of the simulated cloud that each is about has the same name.
 */
import type { Delays } from '../vpc/settings.ts';

type Estimated = Exclude<keyof Delays, 'modifyCallMs'>;

export const ESTIMATED: Readonly<
  Record<Estimated, { readonly says: string; readonly range: readonly [number, number] }>
> = {
  createCallMs: { says: 'CreateNetworkInterface answers', range: [300, 1_000] },
  attachCallMs: { says: 'AttachNetworkInterface answers', range: [200, 500] },
  detachCallMs: { says: 'DetachNetworkInterface answers', range: [200, 500] },
  deleteCallMs: { says: 'DeleteNetworkInterface answers', range: [200, 500] },
  assignCallMs: { says: 'AssignPrivateIpAddresses answers', range: [300, 1_000] },
  unassignCallMs: { says: 'UnassignPrivateIpAddresses answers', range: [300, 1_000] },
  describeCallMs: { says: 'DescribeNetworkInterfaces answers', range: [50, 200] },
  creatingMs: { says: 'a new ENI is Available', range: [0, 2_000] },
  describeLagMs: { says: 'Describe shows what was changed', range: [0, 2_000] },
  attachingMs: { says: 'an attached ENI is InUse', range: [2_000, 6_000] },
  deviceMs: { says: 'the guest sees the device', range: [0, 5_000] },
  metadataMacMs: { says: 'metadata lists the MAC, or drops it', range: [500, 10_000] },
  metadataAddressMs: { says: 'metadata lists the address, or drops it', range: [500, 5_000] },
  detachingMs: { says: 'a detached ENI is Available', range: [2_000, 5_000] },
  deletingMs: { says: 'a deleted ENI is gone from Describe', range: [1_000, 3_000] },
  freeCountMs: { says: 'the vSwitch counts what was taken', range: [0, 10_000] },
};

export type EstimatedDelay = keyof typeof ESTIMATED;
