/**
 * Whether the node can take one more pod, with the slowness that keeps it from being said and taken back with every pod that comes or goes:
 * full at once when nothing is free, room again when several addresses are, or one has been for a while.
 */
export type RoomCount = {
  /** Addresses the node could have, by its type and settings. */
  readonly capacity: number;
  /** Addresses that somebody has or that are promised. */
  readonly held: number;
  /** Addresses that are here and nobody's: idle, and those that rest. */
  readonly unused: number;
  /** Pods of this node that want an address, those that have one included; null when nobody can tell. */
  readonly wanting: number | null;
  /** Why the cloud gives no more at present; null as far as it does. */
  readonly dry: string | null;
};

export type Room = {
  readonly full: boolean;
  /** For people: what is full, or how much is left. */
  readonly why: string;
  readonly free: number;
  /** Since when at least one has been free while the node is still said to be full. */
  readonly freeSinceMs: number | null;
};

export const roomAtFirst: Room = { full: false, why: '', free: 0, freeSinceMs: null };

/** So many free addresses end it at once. */
const CLEAR_AT = 2;

/** A pod that the scheduler has put here counts before it asks: until then ten more would come. */
export function freeOf({ capacity, held, unused, wanting, dry }: RoomCount): number {
  const claimed = Math.max(held, wanting ?? 0);
  const reach = dry === null ? capacity : Math.min(capacity, held + unused);
  return Math.max(0, reach - claimed);
}

export function nextRoom(before: Room, count: RoomCount, holdMs: number, nowMs: number): Room {
  const free = freeOf(count);
  const claimed = Math.max(count.held, count.wanting ?? 0);
  const why =
    free > 0
      ? `${free} of ${count.capacity} addresses are free`
      : (count.dry ?? `${claimed} pods for ${count.capacity} addresses`);
  if (free === 0) return { full: true, why, free, freeSinceMs: null };
  if (!before.full) return { full: false, why, free, freeSinceMs: null };
  const freeSinceMs = before.freeSinceMs ?? nowMs;
  // Where the node holds fewer in all, all of them will do.
  const enough = free >= Math.min(CLEAR_AT, count.capacity) || nowMs - freeSinceMs >= holdMs;
  return enough ? { full: false, why, free, freeSinceMs: null } : { full: true, why, free, freeSinceMs };
}
