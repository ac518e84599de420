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
  readonly fieldLabels: readonly string[];
};

const CORE = 'v1';
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
];

/** The groups beside the core, as `group/version`. */
export const GROUP_VERSIONS: readonly string[] = [
  ...new Set(RESOURCES.map(({ apiVersion }) => apiVersion).filter((one) => one !== CORE)),
];

export function resourceNamed(plural: string): Resource | null {
  return RESOURCES.find((resource) => resource.plural === plural) ?? null;
}
