/** Who made an object, and goes with it. */
import type { KubeObject, OwnerReference } from '../apiserver/kube-object.ts';

export function ownerReference({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
  const { name, uid } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

export function owns(owner: Pick<KubeObject, 'metadata'>, { metadata }: KubeObject): boolean {
  return (metadata.ownerReferences ?? []).some(({ uid }) => uid === owner.metadata.uid);
}
