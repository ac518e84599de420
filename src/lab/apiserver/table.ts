/**
 * Objects as the rows that `kubectl get` prints: it leaves the columns to the server. Name and age of everything; of what the install page looks at, more.
 *
 * Limit: a watch tells whole objects, of which kubectl prints name and age.
 * Source: Kubernetes API concepts, "Receiving resources as Tables"; pkg/printers/internalversion/printers.go (the columns).
 */
import { at, isJsonObject, type Json, type JsonObject } from './kube-object.ts';
import type { Resource } from './resource.ts';

type Column = {
  readonly name: string;
  /** Printed by `-o wide` alone. */
  readonly wide?: true;
  readonly cell: (object: JsonObject, nowMs: number) => string | number;
};

/** Whether a client would rather have a table than the objects. */
export function wantsTable(accept: string): boolean {
  return /(^|,)\s*application\/json;as=table;v=v1;g=meta\.k8s\.io/i.test(accept);
}

/** Of a list, or of one object. */
export function tableOf(resource: Resource, body: JsonObject, nowMs: number): JsonObject {
  const objects: readonly Json[] = Array.isArray(body.items) ? body.items : [body];
  const { resourceVersion, continue: more, remainingItemCount } = isJsonObject(body.metadata) ? body.metadata : {};
  const columns = COLUMNS[resource.plural] ?? [NAME, AGE];
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion, continue: more, remainingItemCount },
    columnDefinitions: columns.map(({ name, wide }) => ({
      ...{ name, type: 'string', description: name, priority: wide ? 1 : 0 },
      format: name === 'Name' ? 'name' : '',
    })),
    rows: objects.filter(isJsonObject).map((object) => ({
      cells: columns.map(({ cell }) => cell(object, nowMs)),
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
    })),
  };
}

const text = (path: string) => (object: JsonObject) => {
  const value = at(object, path);
  return typeof value === 'string' || typeof value === 'number' ? value : '<none>';
};
const count = (path: string) => (object: JsonObject) => Number(at(object, path) ?? 0);
const listAt = (object: JsonObject, path: string): readonly Json[] => {
  const value = at(object, path);
  return Array.isArray(value) ? value : [];
};
const isReady = (object: JsonObject): boolean =>
  listAt(object, 'status.conditions').some((one) => isJsonObject(one) && one.type === 'Ready' && one.status === 'True');

const NAME: Column = { name: 'Name', cell: text('metadata.name') };
const AGE: Column = {
  name: 'Age',
  cell: (object, nowMs) => age(nowMs - Date.parse(String(at(object, 'metadata.creationTimestamp')))),
};

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  pods: [
    NAME,
    {
      name: 'Ready',
      cell: (pod) => {
        const { length } = listAt(pod, 'spec.containers');
        return `${isReady(pod) ? length : 0}/${length}`;
      },
    },
    {
      name: 'Status',
      cell: (pod) => (at(pod, 'metadata.deletionTimestamp') === undefined ? text('status.phase')(pod) : 'Terminating'),
    },
    AGE,
    { name: 'IP', wide: true, cell: text('status.podIP') },
    { name: 'Node', wide: true, cell: text('spec.nodeName') },
  ],
  nodes: [
    NAME,
    { name: 'Unschedulable', cell: (node) => `${at(node, 'spec.unschedulable') === true}` },
    AGE,
    { name: 'Version', cell: text('status.nodeInfo.kubeletVersion') },
  ],
  daemonsets: [
    NAME,
    { name: 'Desired', cell: count('status.desiredNumberScheduled') },
    { name: 'Current', cell: count('status.currentNumberScheduled') },
    { name: 'Ready', cell: count('status.numberReady') },
    { name: 'Up-to-date', cell: count('status.updatedNumberScheduled') },
    { name: 'Available', cell: count('status.numberAvailable') },
    AGE,
  ],
  replicasets: [
    NAME,
    { name: 'Desired', cell: count('spec.replicas') },
    { name: 'Current', cell: count('status.replicas') },
    { name: 'Ready', cell: count('status.readyReplicas') },
    AGE,
  ],
  statefulsets: [
    NAME,
    { name: 'Ready', cell: (set) => `${count('status.readyReplicas')(set)}/${count('spec.replicas')(set)}` },
    AGE,
  ],
  jobs: [
    NAME,
    { name: 'Completions', cell: (job) => `${count('status.succeeded')(job)}/${count('spec.completions')(job)}` },
    AGE,
  ],
  events: [
    { name: 'Last Seen', cell: text('lastTimestamp') },
    { name: 'Type', cell: text('type') },
    { name: 'Reason', cell: text('reason') },
    {
      name: 'Object',
      cell: (event) => `${text('involvedObject.kind')(event)}/${text('involvedObject.name')(event)}`.toLowerCase(),
    },
    { name: 'Message', cell: text('message') },
  ],
};

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const unit = UNITS.find(([, size]) => seconds >= 2 * size);
  return unit === undefined ? `${seconds}s` : `${Math.floor(seconds / unit[1])}${unit[0]}`;
}
