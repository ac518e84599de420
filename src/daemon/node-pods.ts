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

type Kind = 'wanting' | 'others' | 'finished';

export class NodePods {
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Kind>();
  #watch: PodWatchReport = { syncedAtMs: null, heardAtMs: null, awaySinceMs: null, why: null, gaps: 0 };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(event: PodWatchEvent): void {
    const heardAtMs = this.#clock.nowMs();
    this.#watch = { ...this.#watch, heardAtMs, awaySinceMs: null };
    if (event.type === 'synced') {
      this.#kinds.clear();
      for (const pod of event.pods) this.#kinds.set(podKey(pod), kindOf(pod));
      this.#watch = { ...this.#watch, syncedAtMs: heardAtMs };
    } else if (event.type === 'gone') this.#kinds.delete(podKey(event.pod));
    else this.#kinds.set(podKey(event.pod), kindOf(event.pod));
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
    const all = [...this.#kinds.values()];
    return {
      wanting: all.filter((kind) => kind === 'wanting').length,
      others: all.filter((kind) => kind === 'others').length,
    };
  }

  watch(): PodWatchReport {
    return this.#watch;
  }
}

function kindOf({ phase, hostNetwork, labels }: Pod): Kind {
  if (phase === 'Succeeded' || phase === 'Failed') return 'finished';
  return hostNetwork || labels[IGNORE_LABEL] === 'true' ? 'others' : 'wanting';
}
