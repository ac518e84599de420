/** Controllers of pods as the API server writes them: where each kind is asked for, and how many of its pods are not ready. */
import { z } from 'zod';
import { checked } from './kube-values.ts';

type Controller = {
  /** Group and version. */
  readonly api: string;
  readonly plural: string;
  /** Pods that are wanted and not ready. Throws KubernetesError naming the field that is not as the kind has it. */
  readonly unready: (json: unknown) => number;
};

/** A count that is not there is 0: the server leaves out most of those. */
const count = z.number().int().nullish();
const replicated = z.object({
  spec: z.object({ replicas: count, podManagementPolicy: z.string().nullish() }),
  status: z.object({ readyReplicas: count }).nullish(),
});
const daemonSet = z.object({
  status: z.object({ desiredNumberScheduled: count, numberReady: count }).nullish(),
});
const job = z.object({ status: z.object({ active: count, ready: count }).nullish() });

/** Of a spec that says nothing. Source: Kubernetes API, ReplicaSetSpec and StatefulSetSpec. */
const REPLICAS = 1;

function ofReplicaSet(json: unknown): number {
  const { spec, status } = checked('replica set', replicated, json);
  return missing(spec.replicas ?? REPLICAS, status?.readyReplicas);
}

/** Unless it says `Parallel`, each pod waits for the one before. Source: Kubernetes API, StatefulSetSpec, podManagementPolicy. */
function ofStatefulSet(json: unknown): number {
  const { spec, status } = checked('stateful set', replicated, json);
  const all = missing(spec.replicas ?? REPLICAS, status?.readyReplicas);
  return spec.podManagementPolicy === 'Parallel' ? all : Math.min(1, all);
}

function ofDaemonSet(json: unknown): number {
  const { status } = checked('daemon set', daemonSet, json);
  return missing(status?.desiredNumberScheduled, status?.numberReady);
}

/** `active` counts those that are ready too. Source: Kubernetes API, JobStatus. */
function ofJob(json: unknown): number {
  const { status } = checked('job', job, json);
  return missing(status?.active, status?.ready);
}

const missing = (wanted: number | null | undefined, ready: number | null | undefined): number =>
  Math.max(0, (wanted ?? 0) - (ready ?? 0));

/** By kind. */
export const controllers: ReadonlyMap<string, Controller> = new Map([
  ['ReplicaSet', { api: 'apps/v1', plural: 'replicasets', unready: ofReplicaSet }],
  ['StatefulSet', { api: 'apps/v1', plural: 'statefulsets', unready: ofStatefulSet }],
  ['DaemonSet', { api: 'apps/v1', plural: 'daemonsets', unready: ofDaemonSet }],
  ['Job', { api: 'batch/v1', plural: 'jobs', unready: ofJob }],
]);
