/**
 * The service itself: wire requests onto Allocator and Kubernetes, and their answers back.
 *
 * ADD is checked against the API server, so that no address is spent on a pod that is not (or no longer) this node's; a sandbox that
 * already has its lease is answered without asking. Release never asks: a pod may be long gone.
 * Source: Terway's daemon, AllocIP, ReleaseIP, GetIPInfo and RecordEvent as its plugins know them.
 */

import { systemClock } from '../adapters/clock/steady-clock.ts';
import { EnactorError } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import { asksForOwnEni } from '../core/own-eni.ts';
import type { KeptPod } from '../core/pod-copy.ts';
import { type ReservationRules, reserveMsOf } from '../core/reservation.ts';
import { DEFAULT_IF_NAME, type PodRef, podKey } from '../core/sandbox.ts';
import { type Shaping, shapingOf } from '../core/shaping.ts';
import { type EventRequest, IP_TYPE, type IPSet } from '../core/wire.ts';
import type { Allocator } from '../ports/allocator.ts';
import type { TerwayBackend } from '../ports/backend.ts';
import type { Clock } from '../ports/clock.ts';
import type { Kubernetes } from '../ports/kubernetes.ts';
import type { Sandboxes } from '../ports/sandboxes.ts';
import { netConfOf } from './net-conf.ts';
import type { PodCopies } from './pod-copies.ts';
import { podOnThisNode } from './pod-lookup.ts';
import { meantByDelete, meantSandbox } from './unnamed-sandbox.ts';

export type BackendParts = {
  readonly allocator: Allocator;
  readonly kubernetes: Kubernetes;
  readonly sandboxes: Sandboxes;
  /** Of pods, beside the API server. */
  readonly copies?: Pick<PodCopies, 'there' | 'gone'>;
  readonly nodeName: string;
  /** null when the configuration does not tell; the plugin then does without. */
  readonly serviceCidr: IPSet | null;
  /** What kind of address a pod gets (wire.ts); absent: one of a shared ENI. */
  readonly ipType?: number;
  /** A pod may ask for an ENI of its own; `given` is told of each that has one, before it is answered. Absent: none may. */
  readonly ownEnis?: { readonly given: () => void };
  /** Which pods keep their address, and how long. */
  readonly reservations: ReservationRules;
  /** Real time when left out. */
  readonly clock?: Clock;
};

/** Linux's IFNAMSIZ without its NUL. */
const IF_NAME_MAX = 15;
/** Container ids are hex of 64; the bound keeps keys small. */
const CONTAINER_ID_MAX = 256;

const EVENT_MS = 10_000;

/** The pod runs all the same: without an address it would help nobody. */
const NO_ENI =
  'the pod asks for an ENI of its own (annotation k8s.aliyun.com/ENI, resource aliyun/eni), which a node with daemon_mode VPC has not: it got an address of the node’s pod CIDR';

/** Nobody would find out otherwise than when the pod comes back. */
const NOT_KEPT =
  'the pod has an ENI of its own on a node whose other pods share theirs: neither the ENI nor its address is kept for it once it is gone (daemon_mode ENIOnly keeps both)';

const traced = (trace: string | null): { readonly trace?: string } => (trace === null ? {} : { trace });

const stack = { IPv4: true, IPv6: false };

export function backendOver(parts: BackendParts): TerwayBackend {
  const { allocator, kubernetes, sandboxes, nodeName, serviceCidr, reservations, clock = systemClock } = parts;
  const { ipType = IP_TYPE.eniMultiIp, ownEnis = null } = parts;
  const typeOf = (lease: Lease | null): number => (lease?.sandbox.ownEni === true ? IP_TYPE.vpcEni : ipType);
  // As in the original: a pod that comes back to its address may have been deleted by the time that it is asked for.
  const sources = { ...parts, servesGone: (pod: KeptPod) => reserveMsOf(pod, reservations) > 0 };
  // An event tells of what was.
  const eventSources = { ...parts, servesGone: () => true };
  return {
    async AllocIP(request, { signal, untilMs, trace = null }) {
      const askedMs = clock.nowMs();
      const { containerId, ifName } = sandboxNameOf(request);
      const named = podRefOf(request);
      const known = allocator.lease(containerId, ifName);
      const found = known === null ? await podOnThisNode(sources, named, signal) : null;
      const pod = known?.sandbox.pod ?? { ...named, uid: found?.uid ?? null };
      const asksOwn = found !== null && asksForOwnEni(found);
      const ownEni = found === null ? known?.sandbox.ownEni === true : ownEnis !== null && asksOwn;
      // An ENI is kept for nobody: it would stand idle, and be one pod's for hours.
      const reserveMs = found === null ? (known?.reserveMs ?? 0) : ownEni ? 0 : reserveMsOf(found, reservations);
      const shaping = found === null ? known?.sandbox.shaping : shapingOfPod(found, pod);
      const base = { containerId, ifName, netns: request.Netns, network: request.NetworkName ?? '', pod };
      const sandbox = { ...base, ...(shaping !== undefined && { shaping }), ...(ownEni && { ownEni: true as const }) };
      const before = { askedMs, podKnownMs: clock.nowMs() };
      const lease = await allocator.allocate({ sandbox, untilMs, reserveMs, before, ...traced(trace) }, signal);
      if (ownEni) {
        ownEnis?.given();
        if (known === null) tellOfPolicy(pod);
        if (found !== null && reserveMsOf(found, reservations) > 0) tell(pod, 'AddressNotKept', NOT_KEPT);
      } else if (asksOwn && ipType === IP_TYPE.vpcIp) tell(pod, 'OwnEniNotGiven', NO_ENI);
      return { Success: true, IPType: typeOf(lease), ...stack, NetConfs: [netConfOf(lease, serviceCidr)] };
    },

    async ReleaseIP(request, { signal, trace = null }) {
      const pod = { namespace: request.K8sPodNamespace, name: request.K8sPodName, uid: request.PodUid || null };
      const { ifName, ...asked } = { ...sandboxNameOf(request), netns: request.Netns ?? '', ips: request.PodIPs ?? [] };
      const { containerId, unnamed } = await meantByDelete(allocator, sandboxes, { ...asked, ifName, pod });
      const named = { containerId, ifName, pod, reason: request.Reason ?? '', ...traced(trace) };
      const released = await allocator.release(named, signal);
      return {
        Success: true,
        IPType: typeOf(released),
        ...stack,
        NetConfs: released === null ? [] : [netConfOf(released, serviceCidr)],
        ...(released === null && unnamed !== null && { Unnamed: true }),
      };
    },

    async GetIPInfo(request) {
      const { containerId: told, ifName } = sandboxNameOf(request);
      const pod = { namespace: request.K8sPodNamespace, name: request.K8sPodName, uid: null };
      const asked = { containerId: told, ifName, pod, netns: request.Netns ?? '', ips: request.PodIPs ?? [] };
      const { containerId } = meantSandbox(allocator, asked);
      const lease = allocator.lease(containerId, ifName);
      const confs = lease === null ? [] : [netConfOf(lease, serviceCidr)];
      const known = containerId === told ? {} : { ContainerId: containerId };
      return { Success: true, IPType: typeOf(lease), ...stack, NetConfs: confs, ...known };
    },

    async RecordEvent(request, { signal }) {
      const target = await targetOf(request, signal);
      const type = request.EventType === 1 ? 'Warning' : 'Normal';
      const event = { target, type, reason: request.Reason || 'Unknown', message: request.Message ?? '' } as const;
      await kubernetes.recordEvent(event, signal);
      return { Succeed: true };
    },
  };

  /** What it sends does not pass the host, so that nothing there can forbid it. Told once, as its address is. */
  function tellOfPolicy(pod: PodRef): void {
    const message = 'the pod has an ENI of its own: network policy is not enforced on what it sends and receives there';
    tell(pod, 'NetworkPolicyNotEnforced', message);
  }

  /** A warning, for which nobody waits. */
  function tell({ namespace, name, uid }: PodRef, reason: string, message: string): void {
    const target = { kind: 'pod', namespace, name, uid } as const;
    kubernetes.recordEvent({ target, type: 'Warning', reason, message }, AbortSignal.timeout(EVENT_MS)).catch(() => {});
  }

  /** A value that cannot be read is told to the pod, which nobody waits for. */
  function shapingOfPod({ annotations }: KeptPod, pod: PodRef): Shaping | undefined {
    const { shaping, problems } = shapingOf(annotations);
    for (const message of problems) tell(pod, 'BandwidthIgnored', message);
    return Object.keys(shaping).length === 0 ? undefined : shaping;
  }

  async function targetOf(request: EventRequest, signal: AbortSignal) {
    if (request.EventTarget !== 1) {
      const node = await kubernetes.getNode(nodeName, signal);
      return { kind: 'node', name: nodeName, uid: node?.uid ?? null } as const;
    }
    const { K8sPodNamespace: namespace = '', K8sPodName: name = '' } = request;
    const { uid } = await podOnThisNode(eventSources, { namespace, name, uid: null }, signal);
    return { kind: 'pod', namespace, name, uid } as const;
  }
}

function sandboxNameOf(request: { K8sPodInfraContainerId: string; IfName?: string }) {
  const { K8sPodInfraContainerId: containerId, IfName } = request;
  const ifName = IfName || DEFAULT_IF_NAME;
  if (containerId === '' || containerId.length > CONTAINER_ID_MAX)
    throw new EnactorError('invalidArgument', 'K8sPodInfraContainerId: is missing or too long');
  if (ifName.length > IF_NAME_MAX || /[/\s]/.test(ifName))
    throw new EnactorError('invalidArgument', 'IfName: is no name of a network interface');
  return { containerId, ifName };
}

function podRefOf(request: { K8sPodName: string; K8sPodNamespace: string; PodUid?: string }): PodRef {
  const { K8sPodName: name, K8sPodNamespace: namespace, PodUid } = request;
  if (name === '') throw new EnactorError('invalidArgument', 'K8sPodName: is missing');
  if (namespace === '') throw new EnactorError('invalidArgument', 'K8sPodNamespace: is missing');
  if (`${podKey({ namespace, name })}`.length > 512)
    throw new EnactorError('invalidArgument', 'K8sPodName: is too long');
  return { namespace, name, uid: PodUid || null };
}
