/**
 * Which verb on what a request means.
 *
 * Source: Kubernetes API concepts, "Resource URIs" and "Single resource API".
 */
import { METHOD_NOT_ALLOWED, UNKNOWN_PATH } from './api-error.ts';
import { type Resource, resourceNamed } from './resource.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

export type ApiRequest = {
  readonly verb: Verb;
  readonly resource: Resource;
  /** null for cluster-scoped resources and for all namespaces. */
  readonly namespace: string | null;
  readonly name: string | null;
  readonly subresource: 'status' | 'binding' | 'log' | 'exec' | null;
  readonly query: URLSearchParams;
};

/** Throws ApiError 404 for a path that is no resource, 405 for a method that the resource lacks. */
export function route(method: string, url: URL): ApiRequest {
  const parts = url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  // The core is below /api/v1, every other group below /apis/GROUP/VERSION.
  const grouped = parts[0] === 'apis';
  const apiVersion = parts.slice(1, grouped ? 3 : 2).join('/');
  const rest = parts.slice(grouped ? 3 : 2);
  if (!grouped && parts[0] !== 'api') throw UNKNOWN_PATH;
  const isScoped = rest[0] === 'namespaces' && rest.length > 2 && rest[2] !== 'status' && rest[2] !== 'finalize';
  const [plural = '', name = null, sub = null, ...beyond] = isScoped ? rest.slice(2) : rest;
  const namespace = isScoped ? (rest[1] ?? null) : null;
  const resource = resourceNamed(plural);
  if (resource?.apiVersion !== apiVersion || beyond.length > 0) throw UNKNOWN_PATH;
  // Only lists go over all namespaces, and a cluster-scoped resource is in none.
  if (resource.namespaced !== (namespace !== null) && !(resource.namespaced && name === null)) throw UNKNOWN_PATH;
  const subresource = knownSubresource(resource, sub);
  const verb = verbFor(method, name, url.searchParams);
  if (verb === null || !allows(verb, subresource) || (resource.namespaced && namespace === null && verb === 'create')) {
    throw METHOD_NOT_ALLOWED;
  }
  return { verb, resource, namespace, name, subresource, query: url.searchParams };
}

function knownSubresource(resource: Resource, sub: string | null): ApiRequest['subresource'] {
  if (sub === null) return null;
  if (sub === 'status' && resource.status) return 'status';
  if (resource.plural === 'pods' && (sub === 'binding' || sub === 'log' || sub === 'exec')) return sub;
  throw UNKNOWN_PATH;
}

function allows(verb: Verb, subresource: ApiRequest['subresource']): boolean {
  if (subresource === 'log') return verb === 'get';
  if (subresource === 'exec') return verb === 'get' || verb === 'create';
  if (subresource === 'status') return verb === 'get' || verb === 'update' || verb === 'patch';
  return (subresource === 'binding') === (verb === 'create' && subresource !== null);
}

function verbFor(method: string, name: string | null, query: URLSearchParams): Verb | null {
  if (method === 'GET') {
    const watch = query.get('watch');
    if (watch !== null && watch !== 'false' && watch !== '0') return 'watch';
    return name === null ? 'list' : 'get';
  }
  if (method === 'POST') return 'create';
  if (method === 'DELETE') return name === null ? 'deletecollection' : 'delete';
  if (name === null) return null;
  if (method === 'PUT') return 'update';
  return method === 'PATCH' ? 'patch' : null;
}
