/**
 * What must hold of an object before it is stored, and the defaults its kind gets: the few that this project's programs meet.
 *
 * Source: Kubernetes apimachinery pkg/api/validation, pkg/apis/core/validation, pkg/apis/core/v1/defaults.go.
 */
import { badRequest, type Cause, invalid } from './api-error.ts';
import { at, isJsonObject, type Json, type JsonObject, type KubeObject, sameJson } from './kube-object.ts';
import type { Resource } from './resource.ts';

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const SUBDOMAIN_SAID =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** Throws ApiError 400 when the body is not an object of this resource at all. */
export function checkKind(resource: Resource, body: JsonObject): void {
  const { apiVersion = resource.apiVersion, kind = resource.kind } = body;
  if (apiVersion === resource.apiVersion && kind === resource.kind) return;
  const message = `${String(kind)} in version "${String(apiVersion)}" cannot be handled as a ${resource.kind}`;
  throw badRequest(message);
}

/** Throws ApiError 422 with every cause found. */
export function validate(resource: Resource, object: KubeObject, old: KubeObject | null): void {
  const causes = [...metadataCauses(object), ...(resource.plural === 'pods' ? podCauses(object, old) : [])];
  if (resource.plural === 'events') causes.push(...eventCauses(object));
  if (causes.length > 0) throw invalid(resource, object.metadata.name, causes);
}

/** Source: Kubernetes pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go. */
const SPECS: Readonly<Record<string, JsonObject>> = {
  daemonsets: { updateStrategy: { type: 'RollingUpdate' } },
  replicasets: { replicas: 1 },
  statefulsets: { replicas: 1, podManagementPolicy: 'OrderedReady' },
  jobs: { completions: 1, parallelism: 1, backoffLimit: 6, suspend: false },
};

/** Fills in what a client may leave out. */
export function withDefaults(resource: Resource, body: JsonObject): JsonObject {
  if (resource.plural === 'namespaces') return { ...body, status: { phase: 'Active', ...objectAt(body, 'status') } };
  const given = SPECS[resource.plural];
  if (given !== undefined) return { ...body, spec: { ...given, ...objectAt(body, 'spec') } };
  if (resource.plural !== 'pods') return body;
  const spec = {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    serviceAccountName: 'default',
    terminationGracePeriodSeconds: 30,
    ...objectAt(body, 'spec'),
  };
  return { ...body, spec, status: { phase: 'Pending', ...objectAt(body, 'status') } };
}

export function objectAt(body: JsonObject, key: string): JsonObject {
  const value = body[key];
  return isJsonObject(value) ? value : {};
}

function metadataCauses(object: KubeObject): Cause[] {
  const { name, labels, annotations, finalizers } = object.metadata;
  const causes: Cause[] = [];
  if (name === '') causes.push(required('metadata.name', 'name or generateName is required'));
  else if (name.length > 253 || !SUBDOMAIN.test(name)) {
    causes.push(wrong('metadata.name', JSON.stringify(name), SUBDOMAIN_SAID));
  }
  for (const [field, map] of Object.entries({ labels, annotations })) {
    if (!isStringMap(map)) causes.push(wrong(`metadata.${field}`, JSON.stringify(map), 'must be a map of strings'));
  }
  if (finalizers !== undefined && !Array.isArray(finalizers)) {
    causes.push(wrong('metadata.finalizers', JSON.stringify(finalizers), 'must be a list'));
  }
  return causes;
}

function isStringMap(map: Json | undefined): boolean {
  return map === undefined || (isJsonObject(map) && Object.values(map).every((value) => typeof value === 'string'));
}

/** Fields of a pod's spec that may change after creation. The image of a container may as well. */
const MUTABLE = [
  'activeDeadlineSeconds',
  'terminationGracePeriodSeconds',
  'tolerations',
  'containers',
  'initContainers',
];

function podCauses(pod: KubeObject, old: KubeObject | null): Cause[] {
  const containers = at(pod, 'spec.containers');
  if (!Array.isArray(containers) || containers.length === 0) return [required('spec.containers', '')];
  if (old === null) return [];
  const now = frozenSpec(pod);
  if (sameJson(now, frozenSpec(old))) return [];
  const message =
    'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,' +
    '`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds`';
  return [{ reason: 'FieldValueForbidden', message, field: 'spec' }];
}

function frozenSpec(pod: KubeObject): JsonObject {
  const spec = objectAt(pod, 'spec');
  const rest = Object.fromEntries(Object.entries(spec).filter(([key]) => !MUTABLE.includes(key)));
  return { ...rest, containers: withoutImages(spec.containers), initContainers: withoutImages(spec.initContainers) };
}

function withoutImages(containers: Json | undefined): Json {
  const list: readonly Json[] = Array.isArray(containers) ? containers : [];
  return list.map((container) => (isJsonObject(container) ? { ...container, image: null } : container));
}

/** An event lives in the namespace of what it is about; about a node, in `default`. */
function eventCauses(event: KubeObject): Cause[] {
  const about = at(event, 'involvedObject.namespace');
  const wanted = about === undefined || about === '' ? ['default', 'kube-system'] : [about];
  if (wanted.includes(event.metadata.namespace ?? '')) return [];
  return [wrong('involvedObject.namespace', JSON.stringify(about ?? ''), 'does not match event.namespace')];
}

function required(field: string, detail: string): Cause {
  return {
    reason: 'FieldValueRequired',
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
    field,
  };
}

function wrong(field: string, value: string, why: string): Cause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${value}: ${why}`, field };
}
