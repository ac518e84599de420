/**
 * The resources that this server knows, and what sets each apart.
 *
 * Field labels are those that the real server can select on; asking for others is a 400.
 * Source: Kubernetes pkg/apis/core/v1/conversion.go (field label conversion), registry strategies of pods, nodes and events.
 */
export type Resource = {
  /** Group and version, as objects name it; `v1` is the core's. */
  readonly apiVersion: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** Has a status subresource, and its main path then leaves status alone. */
  readonly status: boolean;
  /** Counts the changes of what is wanted in `metadata.generation`, for who tells how far they have been followed. */
  readonly generation?: true;
  readonly fieldLabels: readonly string[];
};

const CORE = 'v1';
const RBAC = 'rbac.authorization.k8s.io/v1';
const ADMISSION = 'admissionregistration.k8s.io/v1';
const named = ['metadata.name'];
const inNamespace = [...named, 'metadata.namespace'];

export const RESOURCES: readonly Resource[] = [
  {
    apiVersion: CORE,
    plural: 'pods',
    singular: 'pod',
    kind: 'Pod',
    shortNames: ['po'],
    namespaced: true,
    status: true,
    fieldLabels: [
      ...inNamespace,
      'spec.nodeName',
      'spec.hostNetwork',
      'spec.restartPolicy',
      'spec.schedulerName',
      'spec.serviceAccountName',
      'status.phase',
      'status.podIP',
      'status.nominatedNodeName',
    ],
  },
  {
    apiVersion: CORE,
    plural: 'nodes',
    singular: 'node',
    kind: 'Node',
    shortNames: ['no'],
    namespaced: false,
    status: true,
    fieldLabels: [...named, 'spec.unschedulable'],
  },
  {
    apiVersion: CORE,
    plural: 'configmaps',
    singular: 'configmap',
    kind: 'ConfigMap',
    shortNames: ['cm'],
    namespaced: true,
    status: false,
    fieldLabels: inNamespace,
  },
  {
    apiVersion: CORE,
    plural: 'events',
    singular: 'event',
    kind: 'Event',
    shortNames: ['ev'],
    namespaced: true,
    status: false,
    fieldLabels: [
      ...inNamespace,
      'involvedObject.kind',
      'involvedObject.namespace',
      'involvedObject.name',
      'involvedObject.uid',
      'involvedObject.apiVersion',
      'involvedObject.resourceVersion',
      'involvedObject.fieldPath',
      'reason',
      'reportingComponent',
      'source',
      'type',
    ],
  },
  {
    apiVersion: CORE,
    plural: 'namespaces',
    singular: 'namespace',
    kind: 'Namespace',
    shortNames: ['ns'],
    namespaced: false,
    status: true,
    fieldLabels: [...named, 'status.phase'],
  },
  {
    apiVersion: CORE,
    plural: 'services',
    singular: 'service',
    kind: 'Service',
    shortNames: ['svc'],
    namespaced: true,
    status: true,
    fieldLabels: [...inNamespace, 'spec.clusterIP', 'spec.type'],
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    plural: 'endpointslices',
    singular: 'endpointslice',
    kind: 'EndpointSlice',
    shortNames: [],
    namespaced: true,
    status: false,
    fieldLabels: inNamespace,
  },
  // What the manifests of a cluster bring beside it.
  manifest(CORE, 'ServiceAccount', { shortNames: ['sa'] }),
  manifest('apps/v1', 'DaemonSet', { shortNames: ['ds'], status: true, generation: true }),
  manifest('apps/v1', 'ControllerRevision', {}),
  // Controllers that nobody runs here: what a test puts, whole or as a status, is what they say.
  manifest('apps/v1', 'ReplicaSet', { shortNames: ['rs'], status: true, generation: true }),
  manifest('apps/v1', 'StatefulSet', { shortNames: ['sts'], status: true, generation: true }),
  manifest('batch/v1', 'Job', { status: true, generation: true }),
  manifest(RBAC, 'Role', {}),
  manifest(RBAC, 'RoleBinding', {}),
  manifest(RBAC, 'ClusterRole', { namespaced: false }),
  manifest(RBAC, 'ClusterRoleBinding', { namespaced: false }),
  manifest('scheduling.k8s.io/v1', 'PriorityClass', {
    plural: 'priorityclasses',
    shortNames: ['pc'],
    namespaced: false,
  }),
  manifest(ADMISSION, 'ValidatingAdmissionPolicy', {
    ...{ plural: 'validatingadmissionpolicies', namespaced: false, status: true, generation: true },
  }),
  manifest(ADMISSION, 'ValidatingAdmissionPolicyBinding', { namespaced: false }),
];

type Told = Partial<Omit<Resource, 'apiVersion' | 'kind' | 'singular' | 'fieldLabels'>>;

function manifest(apiVersion: string, kind: string, told: Told): Resource {
  const singular = kind.toLowerCase();
  const { namespaced = true } = told;
  const usual = { plural: `${singular}s`, shortNames: [], status: false };
  return { apiVersion, kind, singular, ...usual, ...told, namespaced, fieldLabels: namespaced ? inNamespace : named };
}

/** Empty for the core's. */
export function groupOf({ apiVersion }: Resource): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
}

/** The groups beside the core, as `group/version`. */
export const GROUP_VERSIONS: readonly string[] = [
  ...new Set(RESOURCES.map(({ apiVersion }) => apiVersion).filter((one) => one !== CORE)),
];

export function resourceNamed(plural: string): Resource | null {
  return RESOURCES.find((resource) => resource.plural === plural) ?? null;
}

/** The same of one that has to be known: throws RangeError for another. */
export function known(plural: string): Resource {
  const resource = resourceNamed(plural);
  if (resource === null) throw new RangeError(`the API server of the lab knows no ${plural}`);
  return resource;
}
