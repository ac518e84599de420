/** Which part of an object a request may write: the server's own metadata, the status, and the rest. */
import { randomUUID } from 'node:crypto';
import { type JsonObject, type KubeObject, type ObjectMeta, sameJson } from './kube-object.ts';
import type { Resource } from './resource.ts';

/** `generateName` gets five random characters; empty when there is neither. */
export function nameFor(given: JsonObject): string {
  if (typeof given.name === 'string' && given.name !== '') return given.name;
  return typeof given.generateName === 'string' && given.generateName !== ''
    ? `${given.generateName.slice(0, 58)}${randomUUID().slice(0, 5)}`
    : '';
}

const SERVER_FIELDS: readonly string[] = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'managedFields',
  'generation',
];

export function serverFields(metadata: ObjectMeta, more: readonly string[]): JsonObject {
  const fields = [...SERVER_FIELDS, ...more].filter((key) => metadata[key] !== undefined);
  return Object.fromEntries(fields.map((key) => [key, metadata[key]]));
}

export function withoutServerFields(given: JsonObject, more: readonly string[] = []): JsonObject {
  const fields: readonly string[] = [...SERVER_FIELDS, ...more];
  return Object.fromEntries(Object.entries(given).filter(([key]) => !fields.includes(key)));
}

/** The status path changes status (and labels, annotations, finalizers) but no owner; the main path everything else; resources without a status path change as a whole. */
export function split(resource: Resource, old: KubeObject, body: JsonObject, subresource: 'status' | null): JsonObject {
  const whole: JsonObject = { ...body, apiVersion: resource.apiVersion, kind: resource.kind };
  if (!resource.status) return whole;
  const [main, status]: [JsonObject, JsonObject] = subresource === 'status' ? [old, body] : [whole, old];
  const { status: _, ...rest } = main;
  return status.status === undefined ? rest : { ...rest, status: status.status };
}

/** Of an object as it is to be stored: one more than before when anything but metadata and status differs. */
export function generationOf(resource: Resource, object: JsonObject, old: KubeObject | null): JsonObject {
  if (resource.generation === undefined) return {};
  const before = typeof old?.metadata.generation === 'number' ? old.metadata.generation : 0;
  return { generation: old !== null && sameJson(wanted(object), wanted(old)) ? before : before + 1 };
}

function wanted({ metadata: _, status: __, ...rest }: JsonObject): JsonObject {
  return rest;
}
