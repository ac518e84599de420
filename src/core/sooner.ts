/**
 * Requests that wait at an ENI for a call, and could have an address that has turned up elsewhere: pure.
 *
 * Placement sends a request to an ENI that will have an address for it; while that is being made a pod may leave, or a rest end, on
 * another one. Whoever has waited longest is moved there, unless an address is kept for it where it is. And whoever has an address kept by
 * now, since the sandbox before has gone meanwhile, is moved to it.
 */
import { type EniSummary, expecting, givesNow } from './eni-summary.ts';
import { type PlacementPolicy, place, type Waiting } from './placement.ts';

export type Stranded = Waiting & { readonly slot: number };
export type Rescue = { readonly requestId: string; readonly from: number; readonly to: number };

/**
 * @param stranded oldest first
 * @param waiting those that have no place at all: what is kept for one of them is nobody else's
 */
export function sooner(
  stranded: readonly Stranded[],
  enis: readonly EniSummary[],
  policy: PlacementPolicy,
  nowMs: number,
  waiting: readonly Waiting[] = [],
): readonly Rescue[] {
  const found: Rescue[] = [];
  const before = waiting.filter((one) => one.ownEni === true);
  let now = enis;
  for (const request of stranded) {
    const { requestId, pod, slot: from, ownEni } = request;
    const kept = now.find((eni) => eni.reserved?.some((one) => one.pod === pod) === true);
    if (kept === undefined ? !now.some(givesNow) : kept.slot === from) continue;
    const { moves } = place([...before, request], 0, now, policy, nowMs);
    const move = moves.find((one) => one.type === 'assign' && one.requestId === requestId);
    if (move?.type !== 'assign' || move.slot === from || move.alsoCooling || move.alsoReserved === true) continue;
    const home = now.find((eni) => eni.slot === move.slot);
    if (home === undefined || (home !== kept && !givesNow(home))) continue;
    found.push({ requestId, from, to: move.slot });
    const told = { type: 'assign', pod, alsoCooling: false, ...(ownEni === true && { ownEni }) } as const;
    now = now.map((eni) => (eni === home ? expecting(eni, told) : eni));
  }
  return found;
}
