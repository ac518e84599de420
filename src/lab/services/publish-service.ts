/**
 * What an API server, a service controller and an endpoint slice controller do about a Service: the object with its addresses, and slices
 * of the pods that its selector finds, one a family.
 */
import type { ApiServer } from '../apiserver/api-server.ts';
import { at, isJsonObject, type JsonObject, type KubeObject } from '../apiserver/kube-object.ts';
import { type Resource, resourceNamed } from '../apiserver/resource.ts';
import { POD_NAMESPACE } from '../kubelet/kubelet.ts';
import { ECHO_PORT } from '../probe/echo-socket.ts';

export type ServiceWanted = {
  readonly name: string;
  readonly selector: Readonly<Record<string, string>>;
  /** One, or one of each family. */
  readonly clusterIps: readonly string[];
  readonly nodePort?: number;
  readonly externalIps?: readonly string[];
  readonly loadBalancerIps?: readonly string[];
  /** externalTrafficPolicy. */
  readonly policy?: 'Cluster' | 'Local';
  /** sessionAffinity: ClientIP. */
  readonly affinityS?: number;
  /** Of the pods; their echo service if not told. */
  readonly target?: { readonly protocol: 'TCP' | 'UDP'; readonly port: number };
};

/** The port that services of the lab have: not the pods' own, so that an address which is not translated is found out. */
export const SERVICE_PORT = 700;
const PORT_NAME = 'echo';

export function publishService(api: ApiServer, wanted: ServiceWanted): KubeObject {
  const { name, selector, clusterIps, nodePort, externalIps = [], loadBalancerIps = [], policy, affinityS } = wanted;
  const target = wanted.target ?? { protocol: 'UDP', port: ECHO_PORT };
  const port = { name: PORT_NAME, protocol: target.protocol, port: SERVICE_PORT, targetPort: target.port };
  const visible = nodePort !== undefined || externalIps.length + loadBalancerIps.length > 0;
  const type = loadBalancerIps.length > 0 ? 'LoadBalancer' : nodePort === undefined ? 'ClusterIP' : 'NodePort';
  return api.lifecycle.create(named('services'), POD_NAMESPACE, {
    metadata: { name },
    spec: {
      type,
      selector,
      clusterIP: clusterIps[0] ?? null,
      clusterIPs: clusterIps,
      ports: [nodePort === undefined ? port : { ...port, nodePort }],
      externalIPs: externalIps,
      ...(visible ? { externalTrafficPolicy: policy ?? 'Cluster' } : {}),
      ...(affinityS === undefined
        ? { sessionAffinity: 'None' }
        : { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: affinityS } } }),
    },
    status: { loadBalancer: { ingress: loadBalancerIps.map((ip) => ({ ip })) } },
  });
}

/** Brings the slices of all services in line with the pods that run. */
export function syncEndpointSlices(api: ApiServer): void {
  const slices = named('endpointslices');
  for (const service of api.store.list(named('services'), null)) {
    const { name, namespace = POD_NAMESPACE } = service.metadata;
    for (const family of [4, 6] as const) {
      const body = sliceOf(service, family, podsOf(api, service));
      const old = api.store.get(slices, namespace, `${name}-ipv${family}`);
      if (old === null) api.lifecycle.create(slices, namespace, body);
      else api.lifecycle.update(slices, old, body, null);
    }
  }
}

export function servicesOf(api: ApiServer): readonly KubeObject[] {
  return api.store.list(named('services'), null);
}

export function slicesOf(api: ApiServer): readonly KubeObject[] {
  return api.store.list(named('endpointslices'), null);
}

function sliceOf(service: KubeObject, family: 4 | 6, pods: readonly KubeObject[]) {
  const { name } = service.metadata;
  const [port] = portsOf(service);
  const targetPort = typeof port?.targetPort === 'number' ? port.targetPort : ECHO_PORT;
  return {
    metadata: { name: `${name}-ipv${family}`, labels: { 'kubernetes.io/service-name': name } },
    addressType: `IPv${family}`,
    ports: [{ name: port?.name ?? PORT_NAME, protocol: port?.protocol ?? 'UDP', port: targetPort }],
    endpoints: pods.flatMap((pod) => {
      const addresses = podIps(pod).filter((ip) => ip.includes(':') === (family === 6));
      const nodeName = at(pod, 'spec.nodeName') ?? null;
      return addresses.length === 0 ? [] : [{ addresses, nodeName, conditions: { ready: true } }];
    }),
  };
}

function portsOf(service: KubeObject): readonly JsonObject[] {
  const ports = at(service, 'spec.ports');
  return Array.isArray(ports) ? ports.filter(isJsonObject) : [];
}

function podsOf(api: ApiServer, service: KubeObject): readonly KubeObject[] {
  const selector = Object.entries((at(service, 'spec.selector') ?? {}) as Readonly<Record<string, string>>);
  return api.store
    .list(named('pods'), service.metadata.namespace ?? POD_NAMESPACE)
    .filter(({ metadata }) => selector.every(([key, value]) => metadata.labels?.[key] === value))
    .filter((pod) => at(pod, 'status.phase') === 'Running' && pod.metadata.deletionTimestamp === undefined);
}

function podIps(pod: KubeObject): string[] {
  const ips = at(pod, 'status.podIPs');
  return Array.isArray(ips) ? ips.flatMap((one) => (typeof one?.ip === 'string' ? [one.ip] : [])) : [];
}

function named(plural: string): Resource {
  const resource = resourceNamed(plural);
  if (resource === null) throw new Error(`the API server of the lab knows no ${plural}`);
  return resource;
}
