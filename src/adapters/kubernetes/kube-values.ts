/** Pods and nodes as the API server writes them, read into our values. What is absent there may be null, missing or empty. */
import { z } from 'zod';
import { OWN_ENI_RESOURCE } from '../../core/own-eni.ts';
import type { ConfigMapData, Node, Pod } from '../../ports/kubernetes.ts';
import { KubernetesError } from './kubernetes-error.ts';

const strings = z.record(z.string(), z.string()).nullish();

const asked = z.record(z.string(), z.union([z.string(), z.number()])).nullish();
const containers = z.array(z.object({ resources: z.object({ limits: asked, requests: asked }).nullish() })).nullish();

const podSchema = z.object({
  metadata: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    labels: strings,
    annotations: strings,
    deletionTimestamp: z.string().nullish(),
    ownerReferences: z
      .array(z.object({ kind: z.string(), name: z.string().nullish(), controller: z.boolean().nullish() }))
      .nullish(),
  }),
  spec: z.object({
    nodeName: z.string().nullish(),
    hostNetwork: z.boolean().nullish(),
    containers,
    initContainers: containers,
  }),
  status: z
    .object({
      phase: z.string().nullish(),
      podIP: z.string().nullish(),
      podIPs: z.array(z.object({ ip: z.string().nullish() })).nullish(),
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish(),
    })
    .nullish(),
});

const nodeSchema = z.object({
  metadata: z.object({ name: z.string(), uid: z.string(), labels: strings, annotations: strings }),
  spec: z
    .object({
      podCIDR: z.string().nullish(),
      podCIDRs: z.array(z.string()).nullish(),
      providerID: z.string().nullish(),
      unschedulable: z.boolean().nullish(),
    })
    .nullish(),
  status: z.object({ addresses: z.array(z.object({ type: z.string(), address: z.string() })).nullish() }).nullish(),
});

const listSchema = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().nullish() }),
  items: z.array(z.unknown()).nullish(),
});

const PHASES: readonly Pod['phase'][] = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];

/** Throws KubernetesError naming the field that is not as a pod has it. */
export function podOf(json: unknown): Pod {
  const { metadata, spec, status } = checked('pod', podSchema, json);
  const ips = (status?.podIPs ?? []).map(({ ip }) => ip ?? '').filter((ip) => ip !== '');
  const podIp = status?.podIP ?? '';
  const owner = metadata.ownerReferences?.find((one) => one.controller === true);
  const ready = status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    nodeName: spec.nodeName || null,
    phase: PHASES.find((phase) => phase === status?.phase) ?? 'Unknown',
    hostNetwork: spec.hostNetwork ?? false,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    podIPs: ips.length > 0 || podIp === '' ? ips : [podIp],
    deletionMs: metadata.deletionTimestamp ? Date.parse(metadata.deletionTimestamp) : null,
    ownerKind: owner?.kind ?? null,
    ...(owner?.name && { ownerName: owner.name }),
    ...(ready && { ready }),
    ...(wantsEni(spec) && { wantsEni: true }),
  };
}

/** Extended resources are asked for in whole numbers; the API server writes limits for requests and requests for limits. */
function wantsEni({ containers: own, initContainers }: z.infer<typeof podSchema>['spec']): boolean {
  return [...(own ?? []), ...(initContainers ?? [])].some(({ resources }) =>
    [resources?.limits, resources?.requests].some((all) => Number(all?.[OWN_ENI_RESOURCE] ?? 0) > 0),
  );
}

const countSchema = z.object({
  metadata: z.object({ remainingItemCount: z.number().int().nonnegative().nullish() }),
  items: z.array(z.unknown()).nullish(),
});

/** Objects of a list of which only the first page was asked for. */
export function countOf(json: unknown): number {
  const { metadata, items } = checked('list', countSchema, json);
  return (items ?? []).length + (metadata.remainingItemCount ?? 0);
}

export function nodeOf(json: unknown): Node {
  const { metadata, spec, status } = checked('node', nodeSchema, json);
  const cidrs = spec?.podCIDRs ?? [];
  return {
    name: metadata.name,
    uid: metadata.uid,
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    podCidrs: cidrs.length > 0 || !spec?.podCIDR ? cidrs : [spec.podCIDR],
    internalIps: (status?.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address),
    providerId: spec?.providerID || null,
    unschedulable: spec?.unschedulable ?? false,
  };
}

const configMapSchema = z.object({ data: strings });

export function configMapData(json: unknown): ConfigMapData {
  return checked('config map', configMapSchema, json).data ?? {};
}

export type Page = { readonly version: string; readonly next: string | null; readonly pods: readonly Pod[] };

export function podPage(json: unknown): Page {
  const { metadata, items } = checked('list of pods', listSchema, json);
  return { version: metadata.resourceVersion, next: metadata.continue || null, pods: (items ?? []).map(podOf) };
}

/** Throws KubernetesError naming the field that is not as `what` has it. */
export function checked<T>(what: string, schema: z.ZodType<T>, json: unknown): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new KubernetesError(`not a ${what}: ${issue?.path.join('.')}: ${issue?.message}`, 0, '', result.error);
}
