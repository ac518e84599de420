/**
 * What our plugin asks beyond Terway's service: whether an ADD could work, whether a sandbox still has what it was given, and to end what the
 * runtime does not know any more.
 */
import { EnactorError, failureOf } from '../core/errors.ts';
import { isHeldBack } from '../core/held-back.ts';
import type { Lease } from '../core/lease.ts';
import { DEFAULT_IF_NAME, sandboxKey } from '../core/sandbox.ts';
import type { GcReply, StatusReply } from '../core/wire.ts';
import type { Allocator } from '../ports/allocator.ts';
import type { NodeService } from '../ports/backend.ts';
import type { Clock } from '../ports/clock.ts';
import type { NodeReport } from '../ports/introspection.ts';
import type { Log } from '../ports/log.ts';

export type NodeServiceParts = {
  readonly allocator: Allocator;
  readonly report: () => NodeReport | null;
  readonly status: () => StatusReply;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the pods of this node have ENIs of their own by its mode; absent: only those that asked for one. */
  readonly allOwn?: boolean;
};

const REASON = 'the runtime knows no such attachment (GC)';

export function nodeService({ allocator, report, status, clock, log, allOwn = false }: NodeServiceParts): NodeService {
  return {
    async Status() {
      return status();
    },

    /** Reads what the actors know: nobody is asked for it, so that it costs nothing and answers while others are away. */
    async Check({ ContainerId: containerId, IfName }) {
      if (containerId === '') throw new EnactorError('invalidArgument', 'ContainerId: is missing');
      const now = report();
      if (now === null || !now.state.startsWith('running'))
        throw new EnactorError('notReady', 'the leases are not read yet');
      const lease = allocator.lease(containerId, IfName || DEFAULT_IF_NAME);
      return { Problems: lease === null ? [`lease of container ${containerId}`] : leaseProblems(lease, now) };
    },

    /**
     * Every lease of the network that is not listed is released. One that was bound since the call began is not: its ADD is younger than
     * the list. Addresses held back for pods that nobody could name are no attachments.
     */
    async Gc({ NetworkName: network, ValidAttachments }, { signal }) {
      if (network === '') throw new EnactorError('invalidArgument', 'NetworkName: is missing');
      const startMs = clock.nowMs();
      const now = report();
      if (now === null || !now.state.startsWith('running'))
        throw new EnactorError('notReady', 'the leases are not read yet');
      const keyOf = ({ ContainerId, IfName }: { ContainerId: string; IfName: string }) =>
        sandboxKey({ containerId: ContainerId, ifName: IfName });
      const valid = new Set(ValidAttachments.map(keyOf));
      const doomed = now.leases.filter(
        ({ sandbox, boundAtMs }) =>
          sandbox.network === network && !isHeldBack(sandbox) && boundAtMs < startMs && !valid.has(sandboxKey(sandbox)),
      );
      const released: NonNullable<GcReply['Released']>[number][] = [];
      let failure: unknown = null;
      for (const lease of doomed)
        try {
          const { containerId, ifName, pod } = lease.sandbox;
          // An ADD that came meanwhile has a lease of its own.
          if (allocator.lease(containerId, ifName)?.boundAtMs !== lease.boundAtMs) continue;
          await allocator.release({ containerId, ifName, pod, reason: REASON }, signal);
          released.push(releasedOf(lease, allOwn));
        } catch (thrown) {
          log.warn({ sandbox: sandboxKey(lease.sandbox), failure: failureOf(thrown) }, 'GC could not release a lease');
          failure ??= thrown;
        }
      if (doomed.length > 0) log.info({ network, released: released.length, of: doomed.length }, 'GC by the runtime');
      // The runtime asks again; what was released by then is cleaned up by the kernel keeper.
      if (failure !== null) throw failure;
      return { Released: released };
    },
  };
}

/** Each is what is missing. */
function leaseProblems({ sandbox, grant: { address } }: Lease, { invalidLeases = [] }: NodeReport): readonly string[] {
  const of = sandboxKey(sandbox);
  if (!invalidLeases.some((lease) => sandboxKey(lease.sandbox) === of)) return [];
  return [`address ${address.ipv4} on an ENI of this node: it was taken away in the cloud, the pod has to be replaced`];
}

/** With what the plugin needs to fetch an ENI's device home from a namespace that lives on: nobody but us knows either by now. */
function releasedOf(
  { sandbox, grant: { address, eni } }: Lease,
  allOwn: boolean,
): NonNullable<GcReply['Released']>[number] {
  const { containerId, ifName, netns, pod, ownEni = allOwn } = sandbox;
  return {
    ContainerId: containerId,
    IfName: ifName,
    K8sPodNamespace: pod.namespace,
    K8sPodName: pod.name,
    ...(pod.uid === null ? {} : { PodUid: pod.uid }),
    IPs: address.ipv6 === null ? [address.ipv4] : [address.ipv4, address.ipv6],
    ...(netns === '' ? {} : { Netns: netns }),
    ...(ownEni ? { OwnMacs: [eni.mac] } : {}),
  };
}
