/**
 * Whether an object may be stored, by the ValidatingAdmissionPolicies that have been applied and bound with Deny.
 *
 * Limits: as much of CEL as cel.ts has; a policy beyond it refuses everything that it is about, unless it says `failurePolicy: Ignore`. No parameters, no
 * selectors of namespaces and objects, no message expressions; nothing is asked about deletions.
 * Source: Kubernetes, "Validating Admission Policy"; a patch is an UPDATE.
 */
import { ApiError } from './api-error.ts';
import type { User } from './authenticate.ts';
import { cel } from './cel.ts';
import { at, isJsonObject, type Json, type JsonObject, type KubeObject } from './kube-object.ts';
import { groupOf, known } from './resource.ts';
import type { ApiRequest } from './route.ts';
import type { ObjectStore } from './store.ts';

export type Admission = {
  readonly user: User;
  readonly asked: ApiRequest;
  readonly operation: 'CREATE' | 'UPDATE';
  readonly object: KubeObject;
  readonly oldObject: KubeObject | null;
};

/** Throws ApiError 422 with the policy's message. */
export function admit(store: ObjectStore, admission: Admission): void {
  for (const policy of store.list(known('validatingadmissionpolicies'), null)) {
    const name = policy.metadata.name;
    if (!isBound(store, name) || !isAbout(policy, admission)) continue;
    const refused = refusal(policy, admission);
    if (refused === null) continue;
    const { resource } = admission.asked;
    const said = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${refused}`;
    throw new ApiError(422, 'Invalid', `${resource.plural} "${admission.object.metadata.name}" is forbidden: ${said}`);
  }
}

function isBound(store: ObjectStore, policy: string): boolean {
  return store
    .list(known('validatingadmissionpolicybindings'), null)
    .some((one) => at(one, 'spec.policyName') === policy && entries(one, 'spec.validationActions').includes('Deny'));
}

function isAbout(policy: KubeObject, { asked, operation }: Admission): boolean {
  const { resource, subresource } = asked;
  const wanted = subresource === null ? resource.plural : `${resource.plural}/${subresource}`;
  return entries(policy, 'spec.matchConstraints.resourceRules').some((rule) => {
    if (!isJsonObject(rule)) return false;
    const has = (key: string, one: string) => entries(rule, key).some((each) => each === '*' || each === one);
    return has('apiGroups', groupOf(resource)) && has('operations', operation) && has('resources', wanted);
  });
}

/** Null for what passes. */
function refusal(policy: KubeObject, { user, asked, operation, object, oldObject }: Admission): string | null {
  const request = {
    operation,
    resource: { group: groupOf(asked.resource), resource: asked.resource.plural },
    subResource: asked.subresource ?? '',
    userInfo: user,
  };
  const of = { request, object, oldObject };
  try {
    for (const { expression } of expressions(policy, 'spec.matchConditions'))
      if (cel(expression)(of) !== true) return null;
    let variables: Readonly<Record<string, unknown>> = {};
    for (const { name = '', expression } of expressions(policy, 'spec.variables'))
      variables = { ...variables, [name]: cel(expression)({ ...of, variables }) };
    const found = expressions(policy, 'spec.validations').find(
      ({ expression }) => cel(expression)({ ...of, variables }) !== true,
    );
    return found === undefined ? null : (found.message ?? `failed expression: ${found.expression}`);
  } catch (error) {
    if (at(policy, 'spec.failurePolicy') === 'Ignore') return null;
    return `expression resulted in error: ${error instanceof Error ? error.message : String(error)}`;
  }
}

type Expression = { readonly expression: string; readonly name?: string; readonly message?: string };

function expressions(policy: KubeObject, path: string): readonly Expression[] {
  return entries(policy, path).filter(
    (one): one is Expression & JsonObject => isJsonObject(one) && typeof one.expression === 'string',
  );
}

function entries(object: JsonObject, path: string): readonly Json[] {
  const value = at(object, path);
  return Array.isArray(value) ? value : [];
}
