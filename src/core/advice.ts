/** What would be done if it were not for read-only mode, in words. Pure. */
import type { EniSummary } from './eni-summary.ts';
import { type Move, type PlacementPolicy, place, type Waiting } from './placement.ts';
import type { PoolMove } from './pool.ts';
import { shedPlan } from './shed-plan.ts';

export type AdviceView = {
  readonly waiting: readonly Waiting[];
  readonly enis: readonly EniSummary[];
  readonly policy: PlacementPolicy;
  /** What the idle pool reckons to be missing or too much, the low mark, and slots whose ENI is too new to go. */
  readonly pool: PoolMove;
  readonly keep: number;
  readonly young: ReadonlySet<number>;
  readonly nowMs: number;
};

/** One line for each call of the cloud: `would assign 3 addresses on eni-1`. */
export function adviceOf({ waiting, enis, policy, pool, keep, young, nowMs }: AdviceView): readonly string[] {
  const free = { ...policy, readOnly: false };
  const { moves } = place(waiting, pool.grow, enis, free, nowMs);
  const idle = new Map(enis.map((eni) => [eni.slot, eni.counts.idle]));
  const asked = new Map<number, number>();
  const lines: string[] = [];
  for (const move of moves) {
    if (move.type === 'open') lines.push(openingLine(move));
    if (move.type === 'grow') asked.set(move.slot, (asked.get(move.slot) ?? 0) + move.count);
    if (move.type !== 'assign' || move.alsoCooling || move.alsoReserved === true) continue;
    const left = idle.get(move.slot) ?? 0;
    idle.set(move.slot, left - 1);
    if (left <= 0) asked.set(move.slot, (asked.get(move.slot) ?? 0) + 1);
  }
  for (const [slot, count] of asked) lines.push(`would assign ${addresses(count)} on ${nameIn(enis, slot)}`);
  if (pool.shed > 0)
    for (const { slot, drain, count } of shedPlan(enis, { count: pool.shed, keep, young }))
      lines.push(
        drain
          ? `would detach and delete ${nameIn(enis, slot)}, on which ${addresses(count)} idle`
          : `would unassign ${addresses(count)} of ${nameIn(enis, slot)}`,
      );
  return lines;
}

function openingLine({ vSwitchId, ipv4Count }: Extract<Move, { type: 'open' }>): string {
  return `would create an ENI with ${addresses(ipv4Count)} in ${vSwitchId}, and attach it`;
}

const addresses = (count: number): string => (count === 1 ? '1 address' : `${count} addresses`);

const nameIn = (enis: readonly EniSummary[], slot: number): string =>
  enis.find((eni) => eni.slot === slot)?.eniId ?? `the ENI of slot ${slot}`;
