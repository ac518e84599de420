/** The pods of this node as the watch tells of them, counted by what they want of us; and how the watch itself fares. */
import { IGNORE_LABEL } from '../core/pod-copy.ts';
import { podKey } from '../core/sandbox.ts';
import type { Clock } from '../ports/clock.ts';
import type { PodWatchReport } from '../ports/introspection.ts';
import type { Pod, PodWatchEvent } from '../ports/kubernetes.ts';

export type Census = {
  /** Pods that want an address of us. */
  readonly wanting: number;
  /** Pods in the node's own network, or somebody else's to serve: they count against the kubelet's max pods, not against our addresses. */
  readonly others: number;
};

/** The controller of a pod, by what the pod says of it. */
export type PodOwner = { readonly kind: string; readonly namespace: string; readonly name: string };

/** Pods of one owner on this node that want an address of us. */
export type WaitingPods = {
  /** null: of those whom no controller owns. */
  readonly owner: PodOwner | null;
  /** They have none yet. */
  readonly waiting: number;
  /** They are not ready, those that wait included: as their owner counts them. */
  readonly unready: number;
};

type Kind = 'wanting' | 'others' | 'finished';

type Known = {
  readonly kind: Kind;
  readonly owner: PodOwner | null;
  readonly waits: boolean;
  readonly unready: boolean;
};

export class NodePods {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Known>();
  #watch: PodWatchReport = { syncedAtMs: null, heardAtMs: null, awaySinceMs: null, why: null, gaps: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(event: PodWatchEvent): void {
    const heardAtMs = this.#clock.nowMs();
    this.#watch = { ...this.#watch, heardAtMs, awaySinceMs: null };
    if (event.type === 'synced') {
      this.#pods.clear();
      for (const pod of event.pods) this.#pods.set(podKey(pod), knownOf(pod));
      this.#watch = { ...this.#watch, syncedAtMs: heardAtMs };
    } else if (event.type === 'gone') this.#pods.delete(podKey(event.pod));
    else this.#pods.set(podKey(event.pod), knownOf(event.pod));
  }

  /** @param why of a failure; null once the watch is open again */
  trouble(why: string | null): void {
    const { awaySinceMs, gaps } = this.#watch;
    if (why === null) this.#watch = { ...this.#watch, awaySinceMs: null };
    else {
      const since = awaySinceMs ?? this.#clock.nowMs();
      this.#watch = { ...this.#watch, awaySinceMs: since, why, gaps: awaySinceMs === null ? gaps + 1 : gaps };
    }
  }

  /** null before the watch has told of all pods there are. */
  census(): Census | null {
    if (this.#watch.syncedAtMs === null) return null;
    const all = [...this.#pods.values()];
    return {
      wanting: all.filter(({ kind }) => kind === 'wanting').length,
      others: all.filter(({ kind }) => kind === 'others').length,
    };
  }

  /** By owner, those with most that wait first; of owners without any that waits nothing is told. */
  waiting(): readonly WaitingPods[] {
    const byOwner = new Map<string, WaitingPods>();
    for (const { kind, owner, waits, unready } of this.#pods.values()) {
      if (kind !== 'wanting' || !unready) continue;
      const key = owner === null ? '' : `${owner.kind}/${podKey(owner)}`;
      const before = byOwner.get(key) ?? { owner, waiting: 0, unready: 0 };
      byOwner.set(key, { owner, waiting: before.waiting + (waits ? 1 : 0), unready: before.unready + 1 });
    }
    return [...byOwner.values()].filter(({ waiting }) => waiting > 0).sort((a, b) => b.waiting - a.waiting);
  }

  watch(): PodWatchReport {
    return this.#watch;
  }
}

/** What is being deleted is counted as the node's yet, and as its owner's no more. Source: Kubernetes API, ReplicaSetStatus and JobStatus. */
function knownOf(pod: Pod): Known {
  const { namespace, ownerKind, ownerName, podIPs, deletionMs, ready = false } = pod;
  const unready = deletionMs === null && !ready;
  const owner = ownerKind === null || ownerName === undefined ? null : { kind: ownerKind, namespace, name: ownerName };
  return { kind: kindOf(pod), owner, waits: unready && podIPs.length === 0, unready };
}

function kindOf({ phase, hostNetwork, labels }: Pod): Kind {
  if (phase === 'Succeeded' || phase === 'Failed') return 'finished';
  return hostNetwork || labels[IGNORE_LABEL] === 'true' ? 'others' : 'wanting';
}
