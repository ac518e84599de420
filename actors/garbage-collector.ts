/** The garbage collector given hands: the API server, the kernel, and the releases that any caller may ask for. */
import { fromPromise } from 'xstate';
import { addressKey } from '../src/core/address.ts';
import { failureOf } from '../src/core/errors.ts';
import type { HeldLease, PodSighting, SecondLook, Suspect } from '../src/core/garbage.ts';
import { isHeldBack } from '../src/core/held-back.ts';
import type { Lease } from '../src/core/lease.ts';
import { STATIC_UID_ANNOTATION } from '../src/core/pod-copy.ts';
import type { Reservation } from '../src/core/reservation.ts';
import { podKey, sandboxKey } from '../src/core/sandbox.ts';
import type { Allocator } from '../src/ports/allocator.ts';
import type { Pod } from '../src/ports/kubernetes.ts';
import { garbageCollectorMachine } from '../statecharts/garbage-collector.ts';
import type { Collected } from '../statecharts/garbage-collector-context.ts';
import { readCoolDowns, readReservations } from './leases-on-disk.ts';
import type { NodePorts } from './ports.ts';

/** Questions to the API server at once: a node of 250 pods that all went must not be a burst of 250. */
const QUESTIONS_MAX = 4;
/** An address that our books lack for so long has left for good: no answer of the cloud is so late. */
const REST_KEPT_MS = 3_600_000;

export type GarbageCollectorHands = Pick<NodePorts, 'kubernetes' | 'sandboxes' | 'store' | 'clock' | 'log'> & {
  readonly nodeName: string;
  /** The bound leases; those that hold addresses back for a pod nobody can name are none of ours. */
  readonly leases: () => readonly Lease[];
  /** Addresses of our ENIs; null when nobody can tell. */
  readonly owned: () => ReadonlySet<string> | null;
  readonly allocator: Pick<Allocator, 'release' | 'lease'>;
};

export function garbageCollectorLogic(hands: GarbageCollectorHands) {
  const { kubernetes, sandboxes, store, clock, log, nodeName, leases, owned, allocator } = hands;
  const look = async (suspect: Suspect, signal: AbortSignal): Promise<SecondLook> => {
    const { namespace, name } = suspect.pod;
    const lease = allocator.lease(suspect.containerId, suspect.ifName);
    const [api, kernel] = await Promise.all([
      kubernetes.getPod(namespace, name, signal).then(
        (pod) => ({ pod: pod === null ? null : sightingOf(pod) }),
        (error: unknown) => ({ failure: failureOf(error) }),
      ),
      lease === null
        ? { runs: false }
        : sandboxes.isThere(lease.sandbox, ipsOf(lease)).then(
            (runs) => ({ runs }),
            (error: unknown) => ({ failure: failureOf(error) }),
          ),
    ]);
    return { sandbox: suspect.sandbox, api, kernel };
  };
  const collect = async (doomed: Suspect, signal: AbortSignal): Promise<Collected> => {
    const { sandbox, containerId, ifName, pod, reason } = doomed;
    // Nothing is kept for a pod that lives elsewhere, or here with another address.
    const forGood = reason !== 'deleted' && reason !== 'finished';
    const fields = { pod: podKey(pod), container: containerId, if: ifName, reason };
    try {
      // Whatever came to this sandbox since it was looked at, it is not what was found gone.
      if (allocator.lease(containerId, ifName)?.boundAtMs === doomed.boundAtMs)
        await allocator.release({ containerId, ifName, pod, reason: `no DEL came, pod ${reason}`, forGood }, signal);
      return { sandbox, failure: null };
    } catch (error) {
      log.warn({ ...fields, failure: failureOf(error) }, 'a lease without a pod could not be released');
      return { sandbox, failure: failureOf(error) };
    }
  };
  /** What has not ended yet. Records of what has are no use any more. */
  const reservationsNow = async (): Promise<readonly Reservation[]> => {
    const all = [...(await readReservations(store))];
    const ended = all.filter(([, { untilMs }]) => untilMs <= clock.nowMs());
    await store.write(ended.map(([key]) => ({ type: 'del', in: 'reservations', key })));
    return all.filter((one) => !ended.includes(one)).map(([, reservation]) => reservation);
  };
  /**
   * A rest that is over still says that the address was given back, for as long as it is ours (rebuild.ts). What we gave back to the cloud
   * long ago is remembered by nobody else: on a large vSwitch that would be more every day.
   */
  const forgetRests = async (): Promise<void> => {
    const rests = await readCoolDowns(store);
    const ours = owned();
    if (ours === null) return;
    const over = [...rests].filter(([ip, untilMs]) => untilMs < clock.nowMs() - REST_KEPT_MS && !ours.has(ip));
    const ops = over.map(([key]) => ({ type: 'del', in: 'coolDowns', key }) as const);
    await store.write(ops, { synced: false });
  };
  /** No pass is given up for it. */
  const tidied = (): Promise<void> =>
    forgetRests().catch((error: unknown) => {
      log.debug({ failure: failureOf(error) }, 'rests that are over stay on record');
    });
  /** Its pod runs on another node now. An answer that does not come keeps the reservation. */
  const isElsewhere = async ({ pod }: Reservation, signal: AbortSignal): Promise<boolean> => {
    const [namespace = '', name = ''] = pod.split('/');
    const found = await kubernetes.getPod(namespace, name, signal).catch(() => null);
    return found !== null && found.nodeName !== null && found.nodeName !== nodeName;
  };
  return garbageCollectorMachine.provide({
    actors: {
      list: fromPromise(async ({ signal }) => {
        const held = leases()
          .filter(({ sandbox }) => !isHeldBack(sandbox))
          .map(heldOf);
        try {
          const [found, reservations] = await Promise.all([
            kubernetes.listNodePods(nodeName, signal),
            reservationsNow(),
            tidied(),
          ]);
          const pods = found.map(sightingOf);
          log.debug({ leases: held.length, pods: pods.length }, 'leases compared with pods');
          return { atMs: clock.nowMs(), value: { leases: held, pods, reservations } };
        } catch (error) {
          log.warn({ failure: failureOf(error) }, 'pods or reservations could not be listed: nothing is collected');
          throw error;
        }
      }),
      confirm: fromPromise(async ({ input: { suspects, reservations }, signal }) => {
        const looks = await inTurns(suspects, (suspect) => look(suspect, signal));
        const there = await inTurns(reservations, (one) => isElsewhere(one, signal));
        return { atMs: clock.nowMs(), value: { looks, elsewhere: reservations.filter((_, index) => there[index]) } };
      }),
      collect: fromPromise(async ({ input: { doomed, ending }, signal }) => {
        for (const { pod, address } of ending)
          log.info({ pod, ip: address.ipv4 }, 'reservation ended: the pod is elsewhere');
        await store.write(ending.map(({ address }) => ({ type: 'del', in: 'reservations', key: addressKey(address) })));
        const value = await inTurns(doomed, (one) => collect(one, signal));
        const collected = value.filter(({ failure }) => failure === null).length;
        if (value.length > 0) log.info({ collected, failed: value.length - collected }, 'leases without pods released');
        return { atMs: clock.nowMs(), value };
      }),
    },
  });
}

function heldOf({ sandbox, boundAtMs }: Lease): HeldLease {
  const { containerId, ifName, pod } = sandbox;
  return { sandbox: sandboxKey(sandbox), containerId, ifName, pod, boundAtMs };
}

function sightingOf({ namespace, name, uid, annotations, nodeName, phase, hostNetwork }: Pod): PodSighting {
  const finished = phase === 'Succeeded' || phase === 'Failed';
  return {
    namespace,
    name,
    uid,
    staticUid: annotations[STATIC_UID_ANNOTATION] ?? null,
    nodeName,
    finished,
    hostNetwork,
  };
}

const ipsOf = ({ grant: { address } }: Lease): readonly string[] =>
  address.ipv6 === null ? [address.ipv4] : [address.ipv4, address.ipv6];

/** All of them, a few at once, in order. */
async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += QUESTIONS_MAX)
    results.push(...(await Promise.all(items.slice(at, at + QUESTIONS_MAX).map(work))));
  return results;
}
