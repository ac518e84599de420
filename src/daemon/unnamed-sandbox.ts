/**
 * Which sandbox a caller means, when the daemon before us wrote down no container id of it (`unnamedContainerId`).
 *
 * The pod's name is not enough: a late DEL of an older sandbox bears it too. So one of three has to say that it is this one: the path of its namespace,
 * where the record told it (Terway's v1.2); the addresses that the plugin found in the namespace which the runtime named, since no two have one;
 * or, for a DEL, the host, which has nothing of it any more, so that whoever asks ends nothing that runs.
 * Source: cases/field P15, cases/bugs B22; Terway v1.0.10 keeps neither container id nor namespace, and its own plugin's DEL takes the device first.
 */
import { halvesOf } from '../core/address.ts';
import type { Lease } from '../core/lease.ts';
import { type PodRef, unnamedContainerId } from '../core/sandbox.ts';
import type { Allocator } from '../ports/allocator.ts';
import type { Sandboxes } from '../ports/sandboxes.ts';

export type AskedSandbox = {
  readonly containerId: string;
  readonly ifName: string;
  readonly pod: PodRef;
  /** '' when the caller does not know it. */
  readonly netns: string;
  /** What that namespace has on the interface, as far as somebody looked. */
  readonly ips: readonly string[];
};

export type MeantSandbox = {
  readonly containerId: string;
  /** The pod has one without a container id, and nothing says that it is this one. */
  readonly unnamed: Lease | null;
};

/** Asks nobody. */
export function meantSandbox(allocator: Pick<Allocator, 'lease'>, asked: AskedSandbox): MeantSandbox {
  const { containerId, ifName, pod, netns, ips } = asked;
  if (allocator.lease(containerId, ifName) !== null) return { containerId, unnamed: null };
  const unnamed = allocator.lease(unnamedContainerId(pod), ifName);
  if (unnamed === null) return { containerId, unnamed };
  const { sandbox, grant } = unnamed;
  const isIt = (netns !== '' && sandbox.netns === netns) || halvesOf(grant.address).some((ip) => ips.includes(ip));
  return isIt ? { containerId: sandbox.containerId, unnamed: null } : { containerId, unnamed };
}

/** As above, for a DEL. A host that cannot be asked says nothing. */
export async function meantByDelete(
  allocator: Pick<Allocator, 'lease'>,
  sandboxes: Sandboxes,
  asked: AskedSandbox,
): Promise<MeantSandbox> {
  const meant = meantSandbox(allocator, asked);
  if (meant.unnamed === null) return meant;
  const { sandbox, grant } = meant.unnamed;
  const runs = await sandboxes.isThere(sandbox, halvesOf(grant.address)).catch(() => true);
  return runs ? meant : { containerId: sandbox.containerId, unnamed: null };
}
