/**
 * A Kubernetes object as JSON. The server reads few of its fields and keeps all of them, so the type names only those.
 *
 * Stored objects are frozen: lists, watches and the history share them without copying, and a change is a new object.
 */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json | undefined };

export type OwnerReference = { readonly kind: string; readonly name: string; readonly uid: string } & JsonObject;

export type ObjectMeta = {
  readonly name: string;
  /** Absent on cluster-scoped objects. */
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
} & JsonObject;

export type KubeObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
} & JsonObject;

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a dotted path of plain keys, undefined where the path leaves the object. */
export function at(object: JsonObject, path: string): Json | undefined {
  let value: Json | undefined = object;
  for (const key of path.split('.')) {
    if (!isJsonObject(value)) return undefined;
    value = value[key];
  }
  return value;
}

/** Strict deep equality of JSON; a missing key equals an undefined one. */
export function sameJson(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) => sameJson(left[key], right[key]));
}

/** Whole seconds in UTC, as metav1.Time writes them. */
export function kubeTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

export function deepFreeze<T extends Json>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) if (item !== undefined) deepFreeze(item);
  }
  return value;
}
