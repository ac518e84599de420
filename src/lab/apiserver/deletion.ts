/** What a deletion asks for, and how long the object may take. */
import { badRequest } from './api-error.ts';
import { at, isJsonObject, type Json, type KubeObject } from './kube-object.ts';
import type { Resource } from './resource.ts';
import { objectAt } from './validate.ts';

export type DeleteOptions = {
  readonly gracePeriodSeconds: number | null;
  readonly uid: string | null;
  readonly resourceVersion: string | null;
};

/** In seconds. */
export function graceFor(resource: Resource, object: KubeObject, asked: number | null): number {
  if (resource.plural !== 'pods') return 0;
  const phase = at(object, 'status.phase');
  const nodeName = at(object, 'spec.nodeName');
  // Nothing runs: nothing to wait for. Source: pod strategy, CheckGracefulDelete.
  if (nodeName === undefined || nodeName === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
  const own = at(object, 'spec.terminationGracePeriodSeconds');
  const seconds = asked ?? (typeof own === 'number' ? own : 30);
  return Math.max(0, seconds);
}

export function deleteOptions(body: Json, query: URLSearchParams): DeleteOptions {
  const options = isJsonObject(body) ? body : {};
  const preconditions = objectAt(options, 'preconditions');
  const asked = options.gracePeriodSeconds ?? query.get('gracePeriodSeconds');
  const grace = asked === null || asked === undefined ? null : Number(asked);
  if (grace !== null && !Number.isInteger(grace))
    throw badRequest(`gracePeriodSeconds is no integer: ${String(asked)}`);
  // Nothing here gives up what it owns; nobody shall believe that it did.
  if ((options.propagationPolicy ?? query.get('propagationPolicy')) === 'Orphan')
    throw badRequest('propagationPolicy Orphan is not offered by the lab');
  return {
    gracePeriodSeconds: grace,
    uid: typeof preconditions.uid === 'string' ? preconditions.uid : null,
    resourceVersion: typeof preconditions.resourceVersion === 'string' ? preconditions.resourceVersion : null,
  };
}
