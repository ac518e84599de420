/**
 * Refusals as the API server words them: an HTTP code, a reason a program reads, a message a person reads.
 *
 * Source: Kubernetes apimachinery pkg/api/errors/errors.go.
 */
import type { JsonObject } from './kube-object.ts';
import type { Resource } from './resource.ts';

export type Cause = { readonly reason: string; readonly message: string; readonly field: string };

export type Status = {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: JsonObject;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: JsonObject;
  readonly code: number;
};

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | null;

  constructor(code: number, reason: string, message: string, details: JsonObject | null = null) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }
}

export function failureStatus(error: ApiError): Status {
  const { code, reason, message, details } = error;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details === null ? {} : { details }),
    code,
  };
}

/** What the deletion of an object without a grace period answers. */
export function successStatus(resource: Resource, name: string, uid: string): Status {
  const details = { name, kind: resource.plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details, code: 200 };
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function notFound(resource: Resource, name: string): ApiError {
  const details = { name, kind: resource.plural };
  return new ApiError(404, 'NotFound', `${resource.plural} "${name}" not found`, details);
}

export function alreadyExists(resource: Resource, name: string): ApiError {
  const details = { name, kind: resource.plural };
  return new ApiError(409, 'AlreadyExists', `${resource.plural} "${name}" already exists`, details);
}

export function conflict(resource: Resource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${resource.plural} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, { name, kind: resource.plural });
}

export const MODIFIED_MEANWHILE =
  'the object has been modified; please apply your changes to the latest version and try again';

export function invalid(resource: Resource, name: string, causes: readonly Cause[]): ApiError {
  const all = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const said = all.length === 1 ? `${all[0]}` : `[${all.join(', ')}]`;
  const message = `${resource.kind} "${name}" is invalid: ${said}`;
  return new ApiError(422, 'Invalid', message, { name, kind: resource.kind, causes });
}

/** The version asked for is older than what is kept: list again and watch from there. */
export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}

/** The version asked for has not been reached; a real server waits 3 s first, hoping to catch up. */
export function tooLargeVersion(asked: number, current: number): ApiError {
  const message = `Too large resource version: ${asked}, current: ${current}`;
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  return new ApiError(504, 'Timeout', `Timeout: ${message}`, { causes, retryAfterSeconds: 1 });
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new ApiError(415, 'UnsupportedMediaType', message);
}

export const UNKNOWN_PATH = new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
export const METHOD_NOT_ALLOWED = new ApiError(
  405,
  'MethodNotAllowed',
  'the server does not allow this method on the requested resource',
  {},
);
