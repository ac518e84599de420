/**
 * Whether somebody may do what a request asks, by the roles and bindings that have been applied: RBAC. Who is of system:masters may do everything.
 *
 * Limits: no aggregated roles, no non-resource paths (health and discovery are told to everyone who is known), no check of what a binding gives away.
 * Source: Kubernetes, plugin/pkg/auth/authorizer/rbac/rbac.go; apiserver, pkg/endpoints/handlers/responsewriters/errors.go (the words).
 */
import { ApiError } from './api-error.ts';
import { MASTERS, type User } from './authenticate.ts';
import { at, isJsonObject, type Json, type JsonObject, type KubeObject } from './kube-object.ts';
import { groupOf, known } from './resource.ts';
import type { ApiRequest } from './route.ts';
import type { ObjectStore } from './store.ts';

/** Throws ApiError 403. */
export function authorize(store: ObjectStore, user: User, asked: ApiRequest): void {
  if (user.groups.includes(MASTERS)) return;
  for (const rule of rulesFor(store, user, asked.namespace)) if (allows(rule, asked)) return;
  const { resource, subresource, name, namespace, verb } = asked;
  const what = subresource === null ? resource.plural : `${resource.plural}/${subresource}`;
  const where = namespace === null ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const group = groupOf(resource);
  throw new ApiError(
    403,
    'Forbidden',
    `${resource.plural}${group === '' ? '' : `.${group}`}${name === null ? '' : ` "${name}"`} is forbidden: ` +
      `User "${user.username}" cannot ${verb} resource "${what}" in API group "${group}" ${where}`,
    { ...(name !== null && { name }), ...(group !== '' && { group }), kind: resource.plural },
  );
}

/** Those of cluster roles that are bound everywhere, and of what is bound in the namespace. */
function* rulesFor(store: ObjectStore, user: User, namespace: string | null): Generator<JsonObject> {
  const bindings = [
    ...store.list(known('clusterrolebindings'), null),
    ...(namespace === null ? [] : store.list(known('rolebindings'), namespace)),
  ];
  for (const binding of bindings) {
    if (!listAt(binding, 'subjects').some((subject) => isJsonObject(subject) && is(user, subject, namespace))) continue;
    const role = roleOf(store, binding);
    for (const rule of listAt(role ?? {}, 'rules')) if (isJsonObject(rule)) yield rule;
  }
}

function roleOf(store: ObjectStore, binding: KubeObject): KubeObject | null {
  const name = at(binding, 'roleRef.name');
  if (typeof name !== 'string') return null;
  if (at(binding, 'roleRef.kind') === 'ClusterRole') return store.get(known('clusterroles'), null, name);
  return store.get(known('roles'), binding.metadata.namespace ?? null, name);
}

function is({ username, groups }: User, { kind, name, namespace }: JsonObject, own: string | null): boolean {
  if (kind === 'User') return name === username;
  if (kind === 'Group') return groups.some((group) => group === name);
  return kind === 'ServiceAccount' && username === `system:serviceaccount:${namespace ?? own}:${name}`;
}

function allows(rule: JsonObject, { verb, resource, subresource, name }: ApiRequest): boolean {
  const has = (key: string, ...wanted: readonly string[]) =>
    listAt(rule, key).some((one) => one === '*' || wanted.some((each) => each === one));
  const resources =
    subresource === null ? [resource.plural] : [`${resource.plural}/${subresource}`, `*/${subresource}`];
  const names = listAt(rule, 'resourceNames');
  return (
    has('verbs', verb) &&
    has('apiGroups', groupOf(resource)) &&
    has('resources', ...resources) &&
    (names.length === 0 || names.some((one) => one === name))
  );
}

function listAt(object: JsonObject, key: string): readonly Json[] {
  const value = object[key];
  return Array.isArray(value) ? value : [];
}
