/**
 * What the daemon asks of the API server, by what it is for: the verbs of RBAC, and of what. deploy/base/permissions.yaml grants these and no
 * others; a test compares both with the requests that the adapters really make.
 * Source: Kubernetes, "Authorization", request verbs (a GET of a collection is list, with `watch` it is watch).
 */

export type KubeVerb = 'get' | 'list' | 'watch' | 'create' | 'patch';

/** API group to what is asked of it, as RBAC writes both: the core's is '', `nodes/status` is a subresource. */
type Resources = {
  readonly '': 'pods' | 'nodes' | 'nodes/status' | 'events' | 'configmaps';
  readonly apps: 'replicasets' | 'statefulsets' | 'daemonsets';
  readonly batch: 'jobs';
};

export type KubePermission = {
  readonly verb: KubeVerb;
  readonly group: keyof Resources;
  readonly resource: Resources[keyof Resources];
};

const inGroup =
  <Group extends keyof Resources>(group: Group) =>
  (resource: Resources[Group], ...verbs: readonly KubeVerb[]): readonly KubePermission[] =>
    verbs.map((verb) => ({ verb, group, resource }));

const of = inGroup('');
const ofApps = inGroup('apps');
const ofBatch = inGroup('batch');

/** Feature to what it needs. */
export const kubePermissions = {
  /** An ADD of a pod that the watch has not told of; the garbage collector's second witness. */
  podLookup: of('pods', 'get'),
  /** The garbage collector's first witness; requests that wait for nobody. */
  nodePods: of('pods', 'list', 'watch'),
  /** `enable_patch_pod_ips`. */
  podAnnotation: of('pods', 'patch'),
  /** Pod CIDR (VPCIP); standing of the node before it is written. */
  nodeLookup: of('nodes', 'get'),
  /** The label of the overlay, and whether the node is cordoned; how many nodes share the account's calls. */
  nodeWatch: of('nodes', 'list', 'watch'),
  /** What the node can serve (annotation), and the taint of a full one. */
  nodeWrites: of('nodes', 'patch'),
  /** The condition SufficientIP; `address_resource`. */
  nodeStatus: of('nodes/status', 'patch'),
  /** Events of pods and of the node; one that is told again is counted. */
  events: of('events', 'create', 'patch'),
  /** The overlay itself, in the daemon's namespace. */
  overlay: of('configmaps', 'list', 'watch'),
  /** How many pods wait for an address in the whole cluster: those of the controllers whose pods wait here. Without it a node goes on alone. */
  crowd: [
    ...ofApps('replicasets', 'get'),
    ...ofApps('statefulsets', 'get'),
    ...ofApps('daemonsets', 'get'),
    ...ofBatch('jobs', 'get'),
  ],
} as const satisfies Readonly<Record<string, readonly KubePermission[]>>;
