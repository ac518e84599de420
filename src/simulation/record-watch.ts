/**
 * What is struck off a node's disk was done with: what is kept for a pod ends before its time only where it is leased, or its pod has been
 * scheduled elsewhere meanwhile; and what a sandbox may have left is forgotten only once the host has nothing of it.
 *
 * Looked at in the batch that takes the record away: later the world may have made it right again.
 */
import { parseReservation, type Reservation } from '../core/reservation.ts';
import type { Pod } from '../ports/kubernetes.ts';
import type { StoreOp } from '../ports/store.ts';
import type { FakeKubernetes } from './fake-kubernetes.ts';
import type { HostDevices } from './plugged-kernel.ts';
import type { Report } from './violation.ts';
import type { Witness } from './witness.ts';

type Kept = { readonly reservation: Reservation; isElsewhere: boolean };

export type RecordWatchOptions = {
  readonly node: number;
  readonly nodeName: string;
  readonly devices: HostDevices;
  readonly apiServer: FakeKubernetes;
  readonly witness: Witness;
  readonly report: Report;
  readonly nowMs: () => number;
};

export class RecordWatch {
  readonly #options: RecordWatchOptions;
  /** Reservations on the disk, by key. */
  readonly #kept = new Map<string, Kept>();

  constructor(options: RecordWatchOptions) {
    this.#options = options;
    options.apiServer.onPut.add((pod) => this.#scheduled(pod));
  }

  synced(ops: readonly StoreOp[]): void {
    // Whoever leases an address takes what was kept, and has what was left.
    const leases = ops.some((op) => op.in === 'leases' && op.type === 'put');
    for (const op of ops) {
      if (op.in === 'reservations' && op.type === 'put') this.#keep(op.key, op.value);
      if (op.in === 'reservations' && op.type === 'del') {
        if (!leases) this.#ended(op.key);
        this.#kept.delete(op.key);
      }
      if (op.in === 'leftovers' && op.type === 'del' && !leases) this.#cleared(op.key);
    }
  }

  /** The disk has lost all. */
  lost(): void {
    this.#kept.clear();
  }

  #keep(key: string, value: unknown): void {
    const reservation = parseReservation(value);
    if (reservation === null) return;
    const [namespace = '', name = ''] = reservation.pod.split('/');
    const pod = this.#options.apiServer.pod(namespace, name);
    this.#kept.set(key, { reservation, isElsewhere: this.#isElsewhere(pod) });
  }

  #scheduled(pod: Pod): void {
    for (const kept of this.#kept.values())
      if (kept.reservation.pod === `${pod.namespace}/${pod.name}`) kept.isElsewhere ||= this.#isElsewhere(pod);
  }

  #isElsewhere(pod: Pod | null): boolean {
    return pod !== null && pod.nodeName !== null && pod.nodeName !== this.#options.nodeName;
  }

  #ended(key: string): void {
    const { node, nowMs, report, witness } = this.#options;
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    const { pod, untilMs } = kept.reservation;
    witness.checks += 1;
    if (untilMs > nowMs() && !kept.isElsewhere)
      report(
        'kept',
        `node ${node + 1} keeps ${key} no longer for ${pod}, ${untilMs - nowMs()} ms too early, and it is nowhere else`,
      );
  }

  #cleared(sandbox: string): void {
    const { node, devices, report, witness } = this.#options;
    witness.checks += 1;
    if (devices.pods.has(sandbox) && !witness.hasLease(node, sandbox))
      report('7', `node ${node + 1} forgets what ${sandbox} may have left, and the host has it yet`);
  }
}
