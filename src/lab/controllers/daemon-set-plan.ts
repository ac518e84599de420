/**
 * What a DaemonSet lacks on the nodes there are: pods to make, pods to end, and how far it has come. Pure.
 *
 * Limits: a node's taints are not looked at; `maxSurge` and `minReadySeconds` are not followed.
 * Source: Kubernetes, pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode), update.go (rollingUpdate).
 */
import { at, isJsonObject, type Json, type JsonObject, type KubeObject } from '../apiserver/kube-object.ts';
import { isWanted } from './node-affinity.ts';

export const REVISION_LABEL = 'controller-revision-hash';

export type Plan = {
  /** Names of nodes that get a pod. */
  readonly create: readonly string[];
  readonly remove: readonly KubeObject[];
  readonly status: JsonObject;
};

/** `pods`: those of the set. `revision`: of its template. */
export function planDaemonSet(
  set: KubeObject,
  nodes: readonly KubeObject[],
  pods: readonly KubeObject[],
  revision: string,
): Plan {
  const wanted = nodes.filter((node) => isWanted(at(set, 'spec.template.spec'), node));
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  const placed = pods.filter((pod) => names.has(nodeOf(pod)));
  const create = [...names].filter((name) => !placed.some((pod) => nodeOf(pod) === name));
  const elsewhere = pods.filter((pod) => !names.has(nodeOf(pod)) && !isEnding(pod));
  const live = placed.filter((pod) => !isEnding(pod));
  const old = live.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] !== revision);
  const ready = live.filter(isReady);
  return {
    create,
    remove: [...elsewhere, ...(rolls(set) ? outdated(set, old, wanted.length, wanted.length - ready.length) : [])],
    status: {
      observedGeneration: set.metadata.generation ?? 0,
      desiredNumberScheduled: wanted.length,
      currentNumberScheduled: new Set(placed.map(nodeOf)).size,
      numberMisscheduled: elsewhere.length,
      updatedNumberScheduled: live.length - old.length,
      numberReady: ready.length,
      numberAvailable: ready.length,
      numberUnavailable: wanted.length - ready.length,
    },
  };
}

/** Those that do not serve go at once; of the others as many as may be away at a time. */
function outdated(
  set: KubeObject,
  old: readonly KubeObject[],
  desired: number,
  unavailable: number,
): readonly KubeObject[] {
  const left = Math.max(0, maxUnavailable(set, desired) - unavailable);
  return [...old.filter((pod) => !isReady(pod)), ...old.filter(isReady).slice(0, left)];
}

function maxUnavailable(set: KubeObject, desired: number): number {
  const said = at(set, 'spec.updateStrategy.rollingUpdate.maxUnavailable') ?? 1;
  if (typeof said === 'number') return said;
  const [, percent] = /^(\d+)%$/.exec(String(said)) ?? [];
  return percent === undefined ? 1 : Math.ceil((desired * Number(percent)) / 100);
}

function rolls(set: KubeObject): boolean {
  return (at(set, 'spec.updateStrategy.type') ?? 'RollingUpdate') === 'RollingUpdate';
}

export function nodeOf(pod: KubeObject): string {
  const name = at(pod, 'spec.nodeName');
  return typeof name === 'string' ? name : '';
}

export function isEnding({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isReady(pod: KubeObject): boolean {
  const conditions = at(pod, 'status.conditions');
  const list: readonly Json[] = Array.isArray(conditions) ? conditions : [];
  return list.some((one) => isJsonObject(one) && one.type === 'Ready' && one.status === 'True');
}
