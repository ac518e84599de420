/**
 * All objects, one revision counter and the history that watches read: etcd as far as the API shows it.
 *
 * A revision is taken by every change and by nothing else. History is bounded; what left it can no longer be watched from (410).
 */
import { deepFreeze, type KubeObject } from './kube-object.ts';
import type { Resource } from './resource.ts';

/** Changes kept for watches that come back; older ones are compacted. */
export const HISTORY_MAX = 10_000;

export type Change = {
  readonly revision: number;
  readonly resource: Resource;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The object after the change; of a deletion its last state, with the deletion's revision. */
  readonly object: KubeObject;
  /** The object before the change, so that a selector can tell what it has just begun or ceased to match. */
  readonly before: KubeObject | null;
};

export class ObjectStore {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Set<(change: Change) => void>();
  #history: Change[] = [];
  #revision = 1;
  #compacted = 0;

  get revision(): number {
    return this.#revision;
  }

  /** Watches may start at this revision or later. */
  get compactedRevision(): number {
    return this.#compacted;
  }

  get(resource: Resource, namespace: string | null, name: string): KubeObject | null {
    return this.#objects.get(resource.plural)?.get(storeKey(namespace, name)) ?? null;
  }

  /** Sorted by namespace and name, as etcd keys are; all namespaces when it is null. */
  list(resource: Resource, namespace: string | null): readonly KubeObject[] {
    const all = [...(this.#objects.get(resource.plural) ?? [])];
    all.sort(([left], [right]) => (left < right ? -1 : 1));
    return all
      .map(([, object]) => object)
      .filter((object) => namespace === null || object.metadata.namespace === namespace);
  }

  /** Stores the object under the next revision and tells the watches. */
  put(resource: Resource, object: KubeObject): KubeObject {
    const { namespace = null, name } = object.metadata;
    const before = this.get(resource, namespace, name);
    const stored = this.#stamp(object);
    const kind = this.#objects.get(resource.plural) ?? new Map<string, KubeObject>();
    this.#objects.set(resource.plural, kind.set(storeKey(namespace, name), stored));
    this.#record(resource, before === null ? 'ADDED' : 'MODIFIED', stored, before);
    return stored;
  }

  /** Removes the object; `last` is the state to tell the watches. */
  remove(resource: Resource, last: KubeObject): KubeObject {
    const { namespace = null, name } = last.metadata;
    const before = this.get(resource, namespace, name);
    if (before === null) return last;
    const stored = this.#stamp(last);
    this.#objects.get(resource.plural)?.delete(storeKey(namespace, name));
    this.#record(resource, 'DELETED', stored, before);
    return stored;
  }

  /** Changes after `revision`, oldest first; null when they are no longer all known. */
  changesSince(revision: number): readonly Change[] | null {
    return revision < this.#compacted ? null : this.#history.filter((change) => change.revision > revision);
  }

  /** Forgets all history: a watch from any revision but the present one is then refused. */
  compact(): void {
    this.#history = [];
    this.#compacted = this.#revision;
  }

  /** Calls the listener with every change until the returned function is called. */
  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #stamp(object: KubeObject): KubeObject {
    this.#revision += 1;
    return deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } });
  }

  #record(resource: Resource, type: Change['type'], object: KubeObject, before: KubeObject | null): void {
    const change: Change = { revision: this.#revision, resource, type, object, before };
    this.#history.push(change);
    if (this.#history.length > HISTORY_MAX) {
      this.#history = this.#history.slice(HISTORY_MAX / 10);
      this.#compacted = (this.#history[0]?.revision ?? this.#revision) - 1;
    }
    for (const listener of [...this.#listeners]) listener(change);
  }
}

function storeKey(namespace: string | null, name: string): string {
  return namespace === null ? name : `${namespace}/${name}`;
}
