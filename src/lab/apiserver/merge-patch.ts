/**
 * Strategic merge patch as far as this server's resources use it.
 *
 * Strategic: lists named below are merged by their key, all other lists are replaced; the directives `$patch: delete|replace` and
 * `$deleteFromPrimitiveList/<list>` work, as does `$retainKeys`; `$setElementOrder/<list>` is dropped.
 * A node's taints are one list, replaced as a whole. Merge keys go by the list's name wherever it stands, where the real server reads them from the Go types.
 * Source: Kubernetes community, "strategic-merge-patch.md"; `patchMergeKey` tags of k8s.io/api/core/v1.
 */
import { isJsonObject, type Json, type JsonObject, sameJson } from './kube-object.ts';

const MERGE_KEYS: Readonly<Record<string, string>> = {
  addresses: 'type',
  conditions: 'type',
  containers: 'name',
  env: 'name',
  ephemeralContainers: 'name',
  hostAliases: 'ip',
  imagePullSecrets: 'name',
  initContainers: 'name',
  matchConditions: 'name',
  ownerReferences: 'uid',
  podIPs: 'ip',
  hostIPs: 'ip',
  ports: 'containerPort',
  variables: 'name',
  volumeMounts: 'mountPath',
  volumes: 'name',
};
const PRIMITIVE_SETS = new Set(['finalizers', 'podCIDRs']);

export function strategicMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const { $patch, $retainKeys, ...rest } = patch;
  const result: Record<string, Json | undefined> = isJsonObject(target) && $patch !== 'replace' ? { ...target } : {};
  if (Array.isArray($retainKeys))
    for (const key of Object.keys(result)) if (!$retainKeys.includes(key)) delete result[key];
  for (const [key, value] of Object.entries(rest)) {
    const [directive = '', list] = key.startsWith('$') ? key.split('/') : [];
    if (directive === '$deleteFromPrimitiveList' && list !== undefined) {
      const gone = Array.isArray(value) ? value : [];
      const kept = own(result, list);
      if (Array.isArray(kept))
        set(
          result,
          list,
          kept.filter((item) => !gone.some((other) => sameJson(item, other))),
        );
    } else if (directive !== '') {
      // Order of elements: see above.
    } else if (value === null || value === undefined || (isJsonObject(value) && value.$patch === 'delete')) {
      delete result[key];
    } else {
      set(
        result,
        key,
        Array.isArray(value) ? mergeList(key, own(result, key), value) : strategicMergePatch(own(result, key), value),
      );
    }
  }
  return result;
}

function mergeList(name: string, target: Json | undefined, patch: readonly Json[]): Json {
  const old: readonly Json[] = Array.isArray(target) ? target : [];
  if (PRIMITIVE_SETS.has(name)) return [...old, ...patch.filter((item) => !old.includes(item))];
  const mergeKey = MERGE_KEYS[name];
  if (mergeKey === undefined) return patch;
  if (patch.some((item) => isJsonObject(item) && item.$patch === 'replace')) {
    return patch.filter((item) => !isJsonObject(item) || item.$patch === undefined);
  }
  let merged = [...old];
  for (const item of patch) {
    const key = keyOf(item, mergeKey);
    const index = merged.findIndex((other) => key !== undefined && sameJson(keyOf(other, mergeKey), key));
    if (isJsonObject(item) && item.$patch === 'delete') merged = merged.filter((_, position) => position !== index);
    else if (index < 0) merged.push(strategicMergePatch(undefined, item));
    else merged[index] = strategicMergePatch(merged[index], item);
  }
  return merged;
}

function keyOf(item: Json | undefined, mergeKey: string): Json | undefined {
  return isJsonObject(item) ? item[mergeKey] : undefined;
}

function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** As an own property, also for `__proto__`. */
function set(object: Record<string, Json | undefined>, key: string, value: Json): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
