/** Why the router would not send a packet on, and how often that happened. */
export type RefusedKind =
  /** The source is an address of another ENI than the one the packet came out of: a routing fault of the node. */
  | 'routingFault'
  /** The source was taken from this or another ENI a moment ago: a straggler, and no fault by itself. */
  | 'justReleased'
  /** Nobody has, or recently had, this source. */
  | 'unknownSource'
  /** The source is right, but nobody has the destination. */
  | 'noDestination';

export type RefusedCounts = Readonly<Record<RefusedKind, number>>;

export const REFUSED_KINDS: readonly RefusedKind[] = ['routingFault', 'justReleased', 'unknownSource', 'noDestination'];

export const NOTHING_REFUSED: RefusedCounts = { routingFault: 0, justReleased: 0, unknownSource: 0, noDestination: 0 };

export function refusedSince(now: RefusedCounts, before: RefusedCounts): RefusedCounts {
  return {
    routingFault: now.routingFault - before.routingFault,
    justReleased: now.justReleased - before.justReleased,
    unknownSource: now.unknownSource - before.unknownSource,
    noDestination: now.noDestination - before.noDestination,
  };
}
