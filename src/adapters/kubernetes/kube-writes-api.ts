/**
 * Port KubeWrites over a real API server, each write as narrow as the server allows: one condition by its type (strategic merge), one key of a
 * map (merge patch). Taints are one list to the server (atomic, no merge key), so that it is replaced under the version it was read at.
 *
 * Source: Kubernetes core/v1 types.go (patchMergeKey of NodeCondition; NodeSpec.Taints); "Advertise Extended Resources for a Node".
 */
import { z } from 'zod';
import type { KubeWrites, NodeCondition, NodeStanding, Taint } from '../../ports/kube-writes.ts';
import type { ApiClient } from './api-client.ts';
import { isNotFound, KubernetesError } from './kubernetes-error.ts';

const MERGE = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
/** The kubelet and controllers write the node too: whoever comes in between is let by. */
const TAINT_TRIES = 5;

const strings = z.record(z.string(), z.string()).nullish();
const taintSchema = z.looseObject({ key: z.string(), effect: z.string() });
const nodeSchema = z.object({
  metadata: z.object({ uid: z.string(), resourceVersion: z.string(), annotations: strings }),
  spec: z.object({ taints: z.array(taintSchema).nullish() }).nullish(),
  status: z
    .object({
      capacity: strings,
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string().nullish(),
            message: z.string().nullish(),
            lastTransitionTime: z.string().nullish(),
          }),
        )
        .nullish(),
    })
    .nullish(),
});

export class KubeWritesApi implements KubeWrites {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async readNode(name: string, signal: AbortSignal): Promise<NodeStanding | null> {
    try {
      const { metadata, spec, status } = await this.#node(name, signal);
      return {
        uid: metadata.uid,
        annotations: metadata.annotations ?? {},
        taints: (spec?.taints ?? []) as NodeStanding['taints'],
        conditions: (status?.conditions ?? []).map((one) => ({
          type: one.type,
          status: one.status,
          reason: one.reason ?? '',
          message: one.message ?? '',
          transitionMs: Date.parse(one.lastTransitionTime ?? '') || 0,
        })),
        capacity: status?.capacity ?? {},
      };
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async annotateNode(
    name: string,
    annotations: Readonly<Record<string, string | null>>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#patch(pathOf(name), { metadata: { annotations } }, MERGE, signal);
  }

  async setCondition(name: string, condition: NodeCondition, heartbeatMs: number, signal: AbortSignal): Promise<void> {
    const { type, status, reason, message, transitionMs } = condition;
    const times = { lastHeartbeatTime: timeOf(heartbeatMs), lastTransitionTime: timeOf(transitionMs) };
    const conditions = [{ type, status, reason, message, ...times }];
    await this.#patch(`${pathOf(name)}/status`, { status: { conditions } }, STRATEGIC, signal);
  }

  async setTaint(name: string, taint: Taint, present: boolean, signal: AbortSignal): Promise<void> {
    for (let left = TAINT_TRIES; ; left -= 1) {
      const { metadata, spec } = await this.#node(name, signal);
      const all = spec?.taints ?? [];
      const others = all.filter(({ key, effect }) => key !== taint.key || effect !== taint.effect);
      if (present === others.length < all.length) return;
      const { resourceVersion } = metadata;
      const taints = present ? [...others, taint] : others;
      try {
        await this.#patch(pathOf(name), { metadata: { resourceVersion }, spec: { taints } }, MERGE, signal);
        return;
      } catch (error) {
        if (left <= 1 || !(error instanceof KubernetesError) || error.status !== 409) throw error;
      }
    }
  }

  async setCapacity(name: string, resource: string, count: number, signal: AbortSignal): Promise<void> {
    const capacity = { [resource]: String(count) };
    await this.#patch(`${pathOf(name)}/status`, { status: { capacity } }, MERGE, signal);
  }

  async annotatePod(
    { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
    await this.#patch(path, { metadata: { uid, annotations } }, MERGE, signal);
  }

  async #node(name: string, signal: AbortSignal): Promise<z.infer<typeof nodeSchema>> {
    const result = nodeSchema.safeParse(await this.#client.json({ method: 'GET', path: pathOf(name) }, signal));
    if (result.success) return result.data;
    const [issue] = result.error.issues;
    throw new KubernetesError(`not a node: ${issue?.path.join('.')}: ${issue?.message}`, 0, '', result.error);
  }

  async #patch(path: string, body: object, contentType: string, signal: AbortSignal): Promise<void> {
    await this.#client.json({ method: 'PATCH', path, body, contentType }, signal);
  }
}

const pathOf = (node: string): string => `/api/v1/nodes/${encodeURIComponent(node)}`;

const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
