/**
 * Creating, changing and deleting objects: the rules between a request's body and the store.
 *
 * The one liberty: no kubelet reports that a pod has ended, so by default a pod goes by itself when its grace period is over.
 * Source: Kubernetes apiserver pkg/registry/rest/{create,update,delete}.go and registry/generic/registry/store.go.
 */
import { randomUUID } from 'node:crypto';
import {
  ApiError,
  alreadyExists,
  badRequest,
  conflict,
  MODIFIED_MEANWHILE,
  notFound,
  type Status,
  successStatus,
} from './api-error.ts';
import { type DeleteOptions, graceFor } from './deletion.ts';
import { at, type JsonObject, type KubeObject, kubeTime, sameJson } from './kube-object.ts';
import { generationOf, nameFor, serverFields, split, withoutServerFields } from './object-parts.ts';
import { RESOURCES, type Resource, resourceNamed } from './resource.ts';
import type { ObjectStore } from './store.ts';
import { checkKind, objectAt, validate, withDefaults } from './validate.ts';

/**
 * What is created without a status, whatever the body says: a pod's is the kubelet's business, a controller's its controller's. A node's may come
 * with its creation. Source: the strategies of these kinds, PrepareForCreate.
 */
const STATUS_COMES_LATER: ReadonlySet<string> = new Set(['pods', 'daemonsets', 'replicasets', 'statefulsets', 'jobs']);

export type LifecycleOptions = {
  readonly store: ObjectStore;
  readonly now: () => number;
  /** Pods go when their grace period ends; else they wait for a deletion with grace 0, as a kubelet sends it. */
  readonly endGrace: boolean;
};

export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #graceTimers = new Map<string, NodeJS.Timeout>();

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** `admit`: throws for what shall not be stored. */
  create(
    resource: Resource,
    namespace: string | null,
    body: JsonObject,
    admit: (object: KubeObject) => void = () => {},
  ): KubeObject {
    checkKind(resource, body);
    const { store, now } = this.#options;
    const given = objectAt(body, 'metadata');
    // Of what is in no namespace it is overlooked: kustomize puts one on kinds that it does not know.
    if (
      resource.namespaced &&
      given.namespace !== undefined &&
      given.namespace !== '' &&
      given.namespace !== namespace
    ) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    }
    if (given.resourceVersion !== undefined && given.resourceVersion !== '') {
      throw new ApiError(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
    }
    this.#checkNamespace(namespace, resource);
    const metadata = {
      ...withoutServerFields(given),
      name: nameFor(given),
      ...(namespace === null ? {} : { namespace }),
      uid: randomUUID(),
      resourceVersion: '',
      creationTimestamp: kubeTime(now()),
      ...generationOf(resource, body, null),
    };
    const kept: JsonObject = STATUS_COMES_LATER.has(resource.plural) ? { ...body, status: {} } : body;
    const object = {
      ...withDefaults(resource, kept),
      apiVersion: resource.apiVersion,
      kind: resource.kind,
      metadata,
    } as KubeObject;
    validate(resource, object, null);
    admit(object);
    if (store.get(resource, namespace, metadata.name) !== null) throw alreadyExists(resource, metadata.name);
    return store.put(resource, object);
  }

  /**
   * Replaces an object, on its main path or its status path. A change of nothing takes no revision.
   * Throws ApiError 404; 409 when the body names another version or uid; 422; and what `admit` throws.
   */
  update(
    resource: Resource,
    old: KubeObject,
    body: JsonObject,
    subresource: 'status' | null,
    admit: (object: KubeObject) => void = () => {},
  ): KubeObject {
    checkKind(resource, body);
    const { name } = old.metadata;
    const given = objectAt(body, 'metadata');
    if (given.name !== undefined && given.name !== name) {
      throw badRequest(`the name of the object (${String(given.name)}) does not match the name on the URL (${name})`);
    }
    if (
      given.resourceVersion !== undefined &&
      given.resourceVersion !== '' &&
      given.resourceVersion !== old.metadata.resourceVersion
    ) {
      throw conflict(resource, name, MODIFIED_MEANWHILE);
    }
    if (given.uid !== undefined && given.uid !== old.metadata.uid) {
      throw conflict(
        resource,
        name,
        `Precondition failed: UID in precondition: ${String(given.uid)}, UID in object meta: ${old.metadata.uid}`,
      );
    }
    const changed = withoutServerFields(given, subresource === 'status' ? ['ownerReferences'] : []);
    const parts = split(resource, old, withDefaults(resource, body), subresource);
    const metadata = {
      ...changed,
      ...serverFields(old.metadata, subresource === 'status' ? ['ownerReferences'] : []),
      ...generationOf(resource, parts, old),
    };
    const object = { ...parts, metadata } as KubeObject;
    validate(resource, object, old);
    admit(object);
    if (sameJson(object, old)) return old;
    const stored = this.#options.store.put(resource, object);
    return this.#isDone(stored) ? this.#remove(resource, stored) : stored;
  }

  /** Deletes at once, or marks for deletion while a grace period or a finalizer holds the object. */
  delete(resource: Resource, old: KubeObject, options: DeleteOptions): KubeObject | Status {
    const { metadata } = old;
    for (const [field, wanted] of [
      ['UID', options.uid],
      ['ResourceVersion', options.resourceVersion],
    ] as const) {
      const has = field === 'UID' ? metadata.uid : metadata.resourceVersion;
      if (wanted !== null && wanted !== has) {
        throw conflict(
          resource,
          metadata.name,
          `Precondition failed: ${field} in precondition: ${wanted}, ${field} in object meta: ${has}`,
        );
      }
    }
    const graceSeconds = graceFor(resource, old, options.gracePeriodSeconds);
    if (graceSeconds === 0 && (metadata.finalizers ?? []).length === 0) {
      const gone = this.#remove(resource, old);
      return resource.plural === 'pods' || resource.plural === 'namespaces'
        ? gone
        : successStatus(resource, metadata.name, metadata.uid);
    }
    return this.#mark(resource, old, graceSeconds);
  }

  /** What a scheduler does: gives the pod its node, once. */
  bind(resource: Resource, pod: KubeObject, body: JsonObject): KubeObject {
    const nodeName = at(body, 'target.name');
    if (typeof nodeName !== 'string' || nodeName === '') throw badRequest('target.name: a binding names a node');
    const spec = objectAt(pod, 'spec');
    if (spec.nodeName !== undefined && spec.nodeName !== '') {
      throw conflict(
        resource,
        pod.metadata.name,
        `pod ${pod.metadata.name} is already assigned to node "${String(spec.nodeName)}"`,
      );
    }
    return this.#options.store.put(resource, { ...pod, spec: { ...spec, nodeName } });
  }

  close(): void {
    for (const timer of this.#graceTimers.values()) clearTimeout(timer);
    this.#graceTimers.clear();
  }

  /** A second deletion may shorten the grace period, never lengthen it. */
  #mark(resource: Resource, old: KubeObject, graceSeconds: number): KubeObject {
    const { store, now } = this.#options;
    const current = old.metadata.deletionGracePeriodSeconds;
    if (old.metadata.deletionTimestamp !== undefined && (current ?? 0) <= graceSeconds) return old;
    const deletionTimestamp = kubeTime(now() + graceSeconds * 1_000);
    const metadata = { ...old.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds };
    const marked = store.put(resource, { ...old, metadata });
    if (this.#options.endGrace && graceSeconds > 0) this.#endGraceLater(resource, marked, graceSeconds);
    return marked;
  }

  #endGraceLater(resource: Resource, { metadata }: KubeObject, graceSeconds: number): void {
    clearTimeout(this.#graceTimers.get(metadata.uid));
    const timer = setTimeout(() => {
      this.#graceTimers.delete(metadata.uid);
      const current = this.#options.store.get(resource, metadata.namespace ?? null, metadata.name);
      if (current?.metadata.uid !== metadata.uid) return;
      this.delete(resource, current, { gracePeriodSeconds: 0, uid: null, resourceVersion: null });
    }, graceSeconds * 1_000);
    timer.unref();
    this.#graceTimers.set(metadata.uid, timer);
  }

  #isDone({ metadata }: KubeObject): boolean {
    const waits = (metadata.finalizers ?? []).length > 0 || (metadata.deletionGracePeriodSeconds ?? 0) > 0;
    return metadata.deletionTimestamp !== undefined && !waits;
  }

  #remove(resource: Resource, object: KubeObject): KubeObject {
    clearTimeout(this.#graceTimers.get(object.metadata.uid));
    this.#graceTimers.delete(object.metadata.uid);
    if (resource.plural === 'namespaces') this.#empty(object.metadata.name);
    return this.#options.store.remove(resource, object);
  }

  /** A namespace takes its content with it, at once: the real one stays Terminating until its controllers have done so. */
  #empty(namespace: string): void {
    for (const resource of RESOURCES.filter((candidate) => candidate.namespaced)) {
      for (const object of this.#options.store.list(resource, namespace)) this.#remove(resource, object);
    }
  }

  #checkNamespace(namespace: string | null, resource: Resource): void {
    const namespaces = resourceNamed('namespaces');
    if (!resource.namespaced || namespaces === null || namespace === null) return;
    if (this.#options.store.get(namespaces, null, namespace) === null) throw notFound(namespaces, namespace);
  }
}
