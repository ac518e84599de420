/** Why a pod has its address, or has none: read from the snapshots of factory and leases, and from how its last request went. */
import type { AnyActorRef } from 'xstate';
import { isHeldBack } from '../src/core/held-back.ts';
import { timeOfDay } from '../src/core/instant-text.ts';
import type { Lease } from '../src/core/lease.ts';
import { kindOf } from '../src/core/own-eni.ts';
import { considered, type PlacementView } from '../src/core/placement-view.ts';
import { podKey, sandboxKey } from '../src/core/sandbox.ts';
import type { Stage, Why } from '../src/ports/introspection.ts';
import { type EniFactoryContext, policyOf } from '../statecharts/eni-factory-context.ts';
import type { LeaseContext } from '../statecharts/lease.ts';
import type { NodeRef } from '../statecharts/node.ts';
import { ENI_FACTORY, LEASES } from '../statecharts/receptionist.ts';
import type { ObservedSnapshot } from './observer.ts';
import type { RequestTrails, Trail } from './request-trails.ts';
import { statePath } from './state-path.ts';

const STAGES: readonly Stage[] = ['asked', 'podKnown', 'placed', 'offered', 'persisted', 'answered'];

const nothing: PlacementView = { considered: [], underWay: [], nextTryMs: null };

export function whyOf(root: NodeRef, trails: RequestTrails, pod: string, nowMs: number): Why {
  const factory = contextIn<EniFactoryContext>(root.system.get(ENI_FACTORY));
  const leases = leasesOf(root, pod);
  const requests = factory === null ? [] : requestsOf(factory, pod);
  const trail = trails.underWay(pod) ?? trails.of(pod);
  const bound = leases.length > 0;
  const own = factory !== null && wantsOwn(factory, pod);
  const view = factory === null || (bound && requests.length === 0) ? nothing : viewOf(factory, own, nowMs);
  const verdict: Why['verdict'] = requests.length > 0 ? 'waiting' : bound ? 'bound' : 'unknown';
  const told = {
    ...{ pod, verdict, leases, requests, ...view, refusal: null },
    decisions: trail?.decisions ?? [],
    stages: stagesOf(trail),
  } as const;
  return { ...told, answer: answerOf(root, told, trail) };
}

function wantsOwn({ waiting, placed }: EniFactoryContext, pod: string): boolean {
  const all = [...waiting, ...[...placed.values()].map(({ request }) => request)];
  return all.some((request) => request.pod === pod && request.ownEni === true);
}

function viewOf(factory: EniFactoryContext, own: boolean, nowMs: number): PlacementView {
  return considered(Object.values(factory.enis), policyOf(factory), nowMs, own);
}

function leasesOf(root: NodeRef, pod: string): Why['leases'] {
  const supervisor = root.system.get(LEASES) as AnyActorRef | undefined;
  const { children = {} } = (supervisor?.getSnapshot() ?? {}) as Partial<ObservedSnapshot>;
  return Object.values(children)
    .map((child) => child.getSnapshot() as ObservedSnapshot)
    .flatMap(({ value, context }) => {
      const { lease } = (context ?? { lease: null }) as Pick<LeaseContext, 'lease'>;
      return value === 'bound' && lease !== null && !isHeldBack(lease.sandbox) && podKey(lease.sandbox.pod) === pod
        ? [told(lease)]
        : [];
    });
}

function told({ sandbox, grant: { address, eni }, boundAtMs }: Lease): Why['leases'][number] {
  const { ipv4, ipv6 } = address;
  return { sandbox: sandboxKey(sandbox), ipv4, ipv6, eniId: eni.eniId, kind: kindOf(sandbox), boundAtMs };
}

function requestsOf({ waiting, placed, reasons, enis }: EniFactoryContext, pod: string): Why['requests'] {
  const inLine = waiting.map((request) => ({
    request,
    reason: reasons.get(request.requestId) ?? 'it is about to be looked at',
  }));
  const atEni = [...placed.values()]
    .filter(({ granted }) => !granted)
    .map(({ request, slot }) => {
      const { eniId = null, phase = 'lost' } = enis[slot] ?? {};
      const doing = phase === 'opening' ? 'which is being opened' : 'which is to give it an address';
      return { request, reason: `waits at eni:${slot}${eniId === null ? '' : ` (${eniId})`}, ${doing}` };
    });
  return [...inLine, ...atEni]
    .filter(({ request }) => request.pod === pod)
    .map(({ request: { requestId, sinceMs, untilMs }, reason }) => ({ requestId, sinceMs, untilMs, reason }));
}

/** The first has taken no time. */
export function stagesOf(trail: Trail | null): Why['stages'] {
  const passed = STAGES.flatMap((stage) => {
    const atMs = trail?.atMs[stage];
    return atMs === undefined ? [] : [{ stage, atMs }];
  });
  return passed.map(({ stage, atMs }, index) => ({ stage, atMs, tookMs: atMs - (passed[index - 1]?.atMs ?? atMs) }));
}

function answerOf(root: NodeRef, why: Omit<Why, 'answer'>, trail: Trail | null): string {
  const { pod, leases, requests, nextTryMs } = why;
  const [request] = requests;
  if (request !== undefined) {
    const next = nextTryMs === null ? '' : timeOfDay(nextTryMs);
    const told = next === '' || request.reason.includes(next) ? '' : `; next try at ${next}`;
    return `${pod} waits since ${timeOfDay(request.sinceMs)}, until ${timeOfDay(request.untilMs)}: ${request.reason}${told}`;
  }
  const [lease] = leases;
  if (lease !== undefined) {
    const decision = trail?.failure === null ? trail.decisions.at(-1) : undefined;
    const how = decision === undefined ? 'from an earlier life of the daemon' : `by ${decision.what}`;
    const whose = lease.kind === 'own' ? ', an ENI of its own,' : '';
    return `${pod} has ${lease.ipv4} on ${lease.eniId}${whose} since ${timeOfDay(lease.boundAtMs)}, ${how}`;
  }
  if (trail !== null && trail.failure !== null) return `${pod} got no address: ${trail.failure.detail}`;
  const state = statePath(root.getSnapshot().value);
  if (!state.startsWith('running')) return `the node is ${state} and knows of no pod yet`;
  if (trail !== null && trail.atMs.answered === undefined) return `${pod} is being served`;
  if (trail !== null) return `${pod} had an address and has given it back`;
  return `nobody has asked for an address for ${pod} on this node`;
}

function contextIn<C>(actor: unknown): C | null {
  const snapshot = (actor as AnyActorRef | undefined)?.getSnapshot() as { context?: C } | undefined;
  return snapshot?.context ?? null;
}
