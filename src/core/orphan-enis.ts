/**
 * Which ENIs of a cluster belong to nobody any more: made by a node whose instance is gone, and attached nowhere.
 *
 * One look proves nothing: an API may be behind, and a key that may not see an instance is told that there is none. So an answer counts
 * only if it knows every instance that an attached ENI of the cluster names, and an ENI only if two looks with time between agree.
 */
import type { CloudEni } from './eni.ts';

export const INSTANCE_TAG = 'enactor/instance';

export type OrphanLook = {
  /** All ENIs with the cluster's tag. */
  readonly enis: readonly CloudEni[];
  /** Of `instancesNamed(enis)` those that exist. */
  readonly there: ReadonlySet<string>;
};

export type OrphanVerdict = {
  readonly eni: CloudEni;
  /** That made it; null: its tags do not say. */
  readonly instanceId: string | null;
  readonly orphan: boolean;
  readonly why: string;
};

/** Those that have to be asked about: who made an ENI, and who has one. */
export function instancesNamed(enis: readonly CloudEni[]): string[] {
  const named = enis.flatMap((eni) => [eni.tags[INSTANCE_TAG], eni.instanceId]);
  return [...new Set(named.filter((id): id is string => typeof id === 'string' && id !== ''))].sort();
}

/**
 * What is wrong with an answer about instances, as a sentence; null: it can be believed. `aloneIsFine`: a person says that no node of the
 * cluster is left, so that nothing has to be attached anywhere.
 */
export function doubtOf({ enis, there }: OrphanLook, aloneIsFine: boolean): string | null {
  const attached = [...new Set(enis.flatMap(({ instanceId }) => instanceId ?? []))];
  const denied = attached.filter((id) => !there.has(id));
  if (denied.length > 0)
    return `the cloud denies ${denied.slice(0, 3).join(', ')}, which ENIs of the cluster are attached to: may this key see instances?`;
  if (attached.length === 0 && !aloneIsFine)
    return 'no ENI of the cluster is attached to any instance, so that nothing shows that this key may see instances';
  return null;
}

export function verdictsOn({ enis, there }: OrphanLook): OrphanVerdict[] {
  return enis.map((eni) => {
    const instanceId = eni.tags[INSTANCE_TAG] || null;
    const kept = (why: string) => ({ eni, instanceId, orphan: false, why });
    if (eni.instanceId !== null) return kept(`attached to ${eni.instanceId}`);
    if (eni.type !== 'Secondary') return kept(`its type is ${eni.type}`);
    if (eni.status !== 'Available') return kept(`it is ${eni.status}`);
    if (instanceId === null) return kept('its tags do not say which node made it');
    if (there.has(instanceId)) return kept('its node exists');
    return { eni, instanceId, orphan: true, why: `${instanceId} is gone` };
  });
}

/** Of the second look those that the first one had found too. */
export function orphansOfBoth(first: readonly OrphanVerdict[], second: readonly OrphanVerdict[]): OrphanVerdict[] {
  const before = new Set(first.filter(({ orphan }) => orphan).map(({ eni }) => eni.eniId));
  return second.filter(({ orphan, eni }) => orphan && before.has(eni.eniId));
}
