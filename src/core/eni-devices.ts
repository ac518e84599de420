/**
 * What the kubelet is offered as `aliyun/eni`: an ENI for each pod that asks for one. Pure.
 *
 * The kubelet takes what its running pods have from what is usable, so that an ENI which a pod has for itself counts, as does one that nobody uses or that can
 * be opened yet; one on which other pods have addresses does not, nor does the place of one that is somebody else's. Source: Kubernetes, "Device Plugins" (a
 * device that is unhealthy is no part of what the node can allocate).
 */
import type { AddressState } from './address-book.ts';

export type EniDevices = {
  /** As many as the node may have at best: a list that grows and shrinks would lose devices that pods have. */
  readonly all: number;
  readonly usable: number;
};

type Address = { readonly state: AddressState; readonly ownEni?: true };
type Known = {
  readonly limits?: { readonly enis: number; readonly managedEnis?: number } | null;
  readonly enis: readonly { readonly addresses: readonly Address[] }[];
};

/** Somebody has it, or may come back to it. */
const HELD: readonly AddressState[] = ['bound', 'offered', 'reserved', 'invalid'];

/** null while the node does not know itself. `allOwn`: every pod of the node has an ENI of its own. */
export function eniDevices({ limits, enis }: Known, allOwn: boolean): EniDevices | null {
  if (limits === undefined || limits === null) return null;
  const shares = ({ addresses }: Known['enis'][number]): boolean =>
    addresses.some(({ state, ownEni }) => HELD.includes(state) && ownEni !== true);
  const shared = allOwn ? 0 : enis.filter(shares).length;
  const all = limits.enis;
  return { all, usable: Math.max(0, Math.min(all, limits.managedEnis ?? all) - shared) };
}
