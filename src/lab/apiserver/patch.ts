/**
 * The three forms of PATCH, chosen by content type. Server-side apply is not offered: 415, as on a server without it.
 *
 * Source: Kubernetes apiserver pkg/endpoints/handlers/patch.go; RFC 6902 (JSON patch).
 */
import { applyPatch, type Operation } from 'rfc6902';
import { mergePatch } from '../../core/merge-patch.ts';
import { badRequest, invalid, unsupportedMediaType } from './api-error.ts';
import { isJsonObject, type Json, type JsonObject, type KubeObject } from './kube-object.ts';
import { strategicMergePatch } from './merge-patch.ts';
import type { Resource } from './resource.ts';

export const PATCH_TYPES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const;

/** The patched object, not yet validated. Throws ApiError: 415, 400 for a patch of the wrong shape, 422 when JSON patch does not apply. */
export function patched(resource: Resource, object: KubeObject, contentType: string, patch: Json): JsonObject {
  const [json, merge, strategic] = PATCH_TYPES;
  if (contentType === json) return jsonPatched(resource, object, patch);
  if (contentType !== merge && contentType !== strategic) throw unsupportedMediaType(PATCH_TYPES);
  if (!isJsonObject(patch)) throw badRequest('error decoding patch: a merge patch must be an object');
  const result = contentType === merge ? (mergePatch(object, patch) as Json) : strategicMergePatch(object, patch);
  if (!isJsonObject(result)) throw badRequest('error decoding patch: the result is no object');
  return result;
}

function jsonPatched(resource: Resource, object: KubeObject, patch: Json): JsonObject {
  if (!isOperations(patch)) throw badRequest('error decoding patch: a JSON patch is a list of {op, path, ...}');
  const result: Json = structuredClone(object);
  const failed = applyPatch(result, [...patch]).find((outcome) => outcome !== null);
  if (failed === undefined && isJsonObject(result)) return result;
  const message = `the server rejected our request due to an error in our request (${failed?.message ?? 'no object left'})`;
  throw invalid(resource, object.metadata.name, [{ reason: 'FieldValueInvalid', message, field: 'patch' }]);
}

function isOperations(patch: Json): patch is readonly (Operation & JsonObject)[] {
  return (
    Array.isArray(patch) &&
    patch.every((item) => isJsonObject(item) && typeof item.op === 'string' && typeof item.path === 'string')
  );
}
