/**
 * Brings a pod of each DaemonSet to each node that it selects, replaces those of an old template as its update strategy says, and tells how far it is.
 * The node is given with the pod, so that no scheduler is needed.
 *
 * It looks again after every change of a set, a node or a pod, all sets at once: the lab has few.
 */
import { ApiError } from '../apiserver/api-error.ts';
import type { ApiServer } from '../apiserver/api-server.ts';
import { at, isJsonObject, type JsonObject, type KubeObject } from '../apiserver/kube-object.ts';
import { known } from '../apiserver/resource.ts';
import { planDaemonSet, REVISION_LABEL } from './daemon-set-plan.ts';
import { ownerReference, owns } from './ownership.ts';
import { presentRevision } from './template-revisions.ts';

const WATCHED: ReadonlySet<string> = new Set(['daemonsets', 'nodes', 'pods']);

/** Until the returned function is called. */
export function controlDaemonSets(api: Pick<ApiServer, 'store' | 'lifecycle'>): () => void {
  let due: NodeJS.Immediate | null = null;
  const look = () => {
    due ??= setImmediate(() => {
      due = null;
      for (const set of api.store.list(known('daemonsets'), null)) bring(api, set);
    });
  };
  look();
  const unsubscribe = api.store.subscribe(({ resource }) => {
    if (WATCHED.has(resource.plural)) look();
  });
  return () => {
    unsubscribe();
    if (due !== null) clearImmediate(due);
  };
}

function bring({ store, lifecycle }: Pick<ApiServer, 'store' | 'lifecycle'>, set: KubeObject): void {
  const { namespace = '' } = set.metadata;
  const revision = presentRevision({ store, lifecycle }, set);
  const pods = store.list(known('pods'), namespace).filter((pod) => owns(set, pod));
  const plan = planDaemonSet(set, store.list(known('nodes'), null), pods, revision);
  const options = { gracePeriodSeconds: null, resourceVersion: null };
  for (const pod of plan.remove) lifecycle.delete(known('pods'), pod, { ...options, uid: pod.metadata.uid });
  const conditions: JsonObject[] = [];
  for (const node of plan.create) {
    try {
      lifecycle.create(known('pods'), namespace, podOf(set, node, revision));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      conditions.push({ type: 'FailedCreate', status: 'True', message: `${node}: ${error.message}` });
    }
  }
  const status = { ...plan.status, ...(conditions.length > 0 && { conditions }) };
  lifecycle.update(known('daemonsets'), set, { ...set, status }, 'status');
}

function podOf(set: KubeObject, nodeName: string, revision: string): JsonObject {
  const part = (path: string): JsonObject => {
    const value = at(set, path);
    return isJsonObject(value) ? value : {};
  };
  return {
    metadata: {
      generateName: `${set.metadata.name}-`,
      labels: { ...part('spec.template.metadata.labels'), [REVISION_LABEL]: revision },
      annotations: part('spec.template.metadata.annotations'),
      ownerReferences: [ownerReference(set)],
    },
    spec: { ...part('spec.template.spec'), nodeName },
  };
}
