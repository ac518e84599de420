/** How much room the node has, counted from what the actors report and from the pods that the watch tells of. */
import type { ErrorCode } from '../core/errors.ts';
import { nextRoom, type Room, type RoomCount, roomAtFirst } from '../core/node-room.ts';
import type { Clock } from '../ports/clock.ts';
import type { NodeReport, PoolReport } from '../ports/introspection.ts';

/** The cloud has no more for this node; waiting helps, another node helps sooner. */
const DRY: readonly ErrorCode[] = ['vSwitchEmpty', 'eniQuota', 'eniFull', 'ipv6Off', 'groupFull'];

export type NodeRoomParts = {
  readonly clock: Clock;
  readonly holdMs: number;
  /** Addresses that are kept for pods are given to others before a request is refused. */
  readonly reservationsYield: boolean;
  /** Pods of this node that want an address; null while the watch has not told. */
  readonly wanting: () => number | null;
};

export class NodeRoom {
  readonly #parts: NodeRoomParts;
  #room: Room | null = null;

  constructor(parts: NodeRoomParts) {
    this.#parts = parts;
  }

  /** As last counted; null before the node has served. */
  get now(): Room | null {
    return this.#room;
  }

  /** A node that does not serve tells nothing of its room: what was known stays. */
  count(report: NodeReport): Room | null {
    const { pool } = report;
    if (pool === null || !report.state.endsWith('serving')) return this.#room;
    const { clock, holdMs } = this.#parts;
    this.#room = nextRoom(this.#room ?? roomAtFirst, this.#countOf(report, pool), holdMs, clock.nowMs());
    return this.#room;
  }

  #countOf({ refusals = [] }: NodeReport, { counts, capacity }: PoolReport): RoomCount {
    const { reservationsYield, wanting } = this.#parts;
    const kept = counts.reserved;
    const unused = counts.idle + counts.cooling + (reservationsYield ? kept : 0);
    const held = counts.bound + counts.offered + counts.invalid + (reservationsYield ? 0 : kept);
    const refused = counts.idle > 0 ? undefined : refusals.find(({ code }) => DRY.includes(code));
    return { capacity, held, unused, wanting: wanting(), dry: refused?.detail ?? null };
  }
}
