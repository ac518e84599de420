/**
 * The templates that a DaemonSet has had, as ControllerRevisions: what `kubectl rollout history` lists and `kubectl rollout undo` goes back to.
 * Source: Kubernetes, pkg/controller/daemon/update.go (constructHistory, getPatch); kubectl, pkg/polymorphichelpers/rollback.go.
 */
import { createHash } from 'node:crypto';
import type { ApiServer } from '../apiserver/api-server.ts';
import { at, isJsonObject, type Json, type JsonObject, type KubeObject } from '../apiserver/kube-object.ts';
import { known } from '../apiserver/resource.ts';
import { REVISION_LABEL } from './daemon-set-plan.ts';
import { ownerReference, owns } from './ownership.ts';

const KEPT_MAX = 10;

/** The present template's name, which pods bear as a label. Kept as the newest; the oldest are forgotten. */
export function presentRevision({ store, lifecycle }: Pick<ApiServer, 'store' | 'lifecycle'>, set: KubeObject): string {
  const resource = known('controllerrevisions');
  const { namespace = '', name } = set.metadata;
  const template = at(set, 'spec.template');
  const hash = createHash('sha256').update(canonical(template)).digest('hex').slice(0, 10);
  const all = store.list(resource, namespace).filter((one) => owns(set, one));
  const newest = Math.max(0, ...all.map(numberOf));
  const present = all.find(({ metadata }) => metadata.labels?.[REVISION_LABEL] === hash);
  if (present !== undefined && numberOf(present) === newest) return hash;
  if (present !== undefined) {
    lifecycle.update(resource, present, { ...present, revision: newest + 1 }, null);
    return hash;
  }
  const labels = at(set, 'spec.template.metadata.labels');
  lifecycle.create(resource, namespace, {
    metadata: {
      name: `${name}-${hash}`,
      labels: { ...(isJsonObject(labels) ? labels : {}), [REVISION_LABEL]: hash },
      ownerReferences: [ownerReference(set)],
    },
    data: { spec: { template: { ...(isJsonObject(template) ? template : {}), $patch: 'replace' } } },
    revision: newest + 1,
  });
  const now = { gracePeriodSeconds: null, uid: null, resourceVersion: null };
  const old = all.toSorted((a, b) => numberOf(a) - numberOf(b)).slice(0, Math.max(0, all.length + 1 - KEPT_MAX));
  for (const one of old) lifecycle.delete(resource, one, now);
  return hash;
}

const numberOf = ({ revision }: JsonObject): number => (typeof revision === 'number' ? revision : 0);

/** The same for the same value, in whichever order its keys came. */
function canonical(value: Json | undefined): string {
  return JSON.stringify(value ?? null, (_, part: Json) =>
    isJsonObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
