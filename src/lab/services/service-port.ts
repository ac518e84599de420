/**
 * One port of a Service in one address family, with the endpoints behind it: what a proxy makes its rules of.
 *
 * Read from Services and EndpointSlices as the API server has them. Limits: ports of pods are numbers, not names; no topology hints; an
 * endpoint is ready or not there.
 */
import { type Family, familyOf } from '../../core/ip.ts';
import { at, isJsonObject, type Json, type JsonObject, type KubeObject } from '../apiserver/kube-object.ts';

export type Protocol = 'tcp' | 'udp';

export type Endpoint = { readonly ip: string; readonly port: number; readonly nodeName: string };

export type ServicePort = {
  /** NAMESPACE/NAME:PORT, as kube-proxy writes it. */
  readonly title: string;
  readonly namespace: string;
  readonly name: string;
  readonly portName: string;
  readonly family: Family;
  readonly protocol: Protocol;
  readonly clusterIp: string;
  readonly port: number;
  readonly nodePort: number | null;
  readonly externalIps: readonly string[];
  readonly loadBalancerIps: readonly string[];
  /** externalTrafficPolicy: Local. */
  readonly local: boolean;
  /** sessionAffinity: ClientIP, in seconds. */
  readonly affinityS: number | null;
  readonly endpoints: readonly Endpoint[];
};

/** Ports that have a cluster IP of the family, in the order of their titles. */
export function servicePorts(
  services: readonly KubeObject[],
  slices: readonly KubeObject[],
  family: Family,
): ServicePort[] {
  return services
    .flatMap((service) => portsOf(service, slices, family))
    .sort((a, b) => (a.title < b.title ? -1 : a.title > b.title ? 1 : 0));
}

function portsOf(service: KubeObject, slices: readonly KubeObject[], family: Family): ServicePort[] {
  const { name, namespace = 'default' } = service.metadata;
  const clusterIp = ofFamily(
    [...texts(at(service, 'spec.clusterIPs')), ...texts([at(service, 'spec.clusterIP')])],
    family,
  )[0];
  if (clusterIp === undefined) return [];
  const own = slices.filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.labels?.['kubernetes.io/service-name'] === name,
  );
  return objects(at(service, 'spec.ports')).map((port) => {
    const portName = typeof port.name === 'string' ? port.name : '';
    const ingress = objects(at(service, 'status.loadBalancer.ingress')).flatMap(({ ip }) => texts([ip]));
    const seconds = at(service, 'spec.sessionAffinityConfig.clientIP.timeoutSeconds');
    return {
      title: `${namespace}/${name}${portName === '' ? '' : `:${portName}`}`,
      namespace,
      name,
      portName,
      family,
      protocol: port.protocol === 'UDP' ? 'udp' : 'tcp',
      clusterIp,
      port: Number(port.port),
      nodePort: typeof port.nodePort === 'number' ? port.nodePort : null,
      externalIps: ofFamily(texts(at(service, 'spec.externalIPs')), family),
      loadBalancerIps: ofFamily(ingress, family),
      local: at(service, 'spec.externalTrafficPolicy') === 'Local',
      affinityS: at(service, 'spec.sessionAffinity') === 'ClientIP' ? Number(seconds ?? 10_800) : null,
      endpoints: own.flatMap((slice) => endpointsOf(slice, portName, family)),
    };
  });
}

function endpointsOf(slice: KubeObject, portName: string, family: Family): Endpoint[] {
  if (at(slice, 'addressType') !== `IPv${family}`) return [];
  const port = objects(at(slice, 'ports')).find((one) => (one.name ?? '') === portName)?.port;
  if (typeof port !== 'number') return [];
  return objects(at(slice, 'endpoints')).flatMap((endpoint) => {
    const [ip] = texts(endpoint.addresses);
    if (ip === undefined || at(endpoint, 'conditions.ready') === false) return [];
    return { ip, port, nodeName: String(endpoint.nodeName ?? '') };
  });
}

function ofFamily(ips: readonly string[], family: Family): string[] {
  return ips.filter((ip) => familyOf(ip) === family);
}

function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function texts(value: Json | undefined | readonly (Json | undefined)[]): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string' && one !== '') : [];
}
