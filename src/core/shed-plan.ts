/**
 * Where idle addresses go from that are too many. Pure.
 *
 * Whole ENIs first, since a slot and a device go with them; then secondary addresses (the primary one goes only with its ENI) of the
 * least used ENIs, so that these empty. Only ENIs at rest are told: a busy one would say no, and be asked again at once. Before all others
 * go those that are not made yet.
 */
import { type EniSummary, isForNobody, spareOf } from './eni-summary.ts';

export type ShedMove = { readonly slot: number; readonly drain: boolean; readonly count: number };

export type ShedOrder = {
  /** Idle addresses that are too many. */
  readonly count: number;
  /** The low water mark: what has to be there afterwards. */
  readonly keep: number;
  /** Slots whose ENI is too new to go. What is on it waits with it, so that it goes in one piece. */
  readonly young: ReadonlySet<number>;
  /** By slot: what goes before all others, since the instance type does not allow it. */
  readonly over?: ReadonlyMap<number, number>;
  /** Addresses that would be too many once all are here that are under way. */
  readonly callOff?: number;
};

/** Nobody holds, waits for, or may come back to any of its addresses. */
export function isUnused({ ours, phase, queued, arriving, counts, own }: EniSummary): boolean {
  const { offered, bound, cooling, reserved, leaving, invalid } = counts;
  const others = offered + bound + cooling + reserved + leaving + invalid + queued + arriving;
  return ours && phase === 'ready' && others === 0 && own !== true;
}

/** The largest that are no more than is too many. */
function calledOff(enis: readonly EniSummary[], callOff: number): ShedMove[] {
  let left = callOff;
  const inLine = enis.filter(isForNobody).sort((a, b) => b.arriving - a.arriving || b.slot - a.slot);
  return inLine.flatMap(({ slot, arriving }) => {
    if (arriving > left) return [];
    left -= arriving;
    return [{ slot, drain: true, count: 0 }];
  });
}

/**
 * One choice beyond the count: an unused ENI goes although it has more than is too many, when other ENIs have idle addresses and the
 * low water mark holds on them alone. Otherwise a few idle addresses could stay spread over several unused ENIs.
 */
export function shedPlan(
  all: readonly EniSummary[],
  { count, keep, young, over, callOff = 0 }: ShedOrder,
): readonly ShedMove[] {
  const moves: ShedMove[] = calledOff(all, callOff);
  const enis = all.filter(({ slot }) => !moves.some((move) => move.slot === slot));
  const handled = new Set<number>();
  const usable = enis.filter((eni) => (eni.phase === 'ready' || eni.phase === 'holding') && eni.own !== true);
  let left = count;
  let idle = usable.reduce((sum, eni) => sum + eni.counts.idle, 0);
  const coming =
    usable.reduce((sum, eni) => sum + eni.counts.cooling, 0) + enis.reduce((sum, e) => sum + spareOf(e), 0);
  const quiet = enis
    .filter((eni) => eni.phase === 'ready' && eni.ours && eni.own !== true)
    .filter((eni) => eni.queued === 0 && eni.arriving === 0 && eni.counts.leaving === 0)
    .sort((a, b) => a.counts.idle - b.counts.idle || b.slot - a.slot);
  for (const eni of quiet) {
    const many = over?.get(eni.slot);
    if (many === undefined) continue;
    handled.add(eni.slot);
    const drain = isUnused(eni) && many === eni.counts.idle;
    moves.push({ slot: eni.slot, drain, count: many });
    left -= many;
    idle -= many;
  }
  const unused = quiet.filter((eni) => isUnused(eni) && !handled.has(eni.slot));
  const isYoung = (eni: EniSummary): boolean => young.has(eni.slot);
  for (const eni of [...unused.filter((one) => !isYoung(one)), ...unused.filter(isYoung)]) {
    const own = eni.counts.idle;
    if (left <= 0) break;
    const others = idle - own;
    if (own > left && (others === 0 || others + coming < keep)) continue;
    handled.add(eni.slot);
    if (own > 0 && !isYoung(eni)) moves.push({ slot: eni.slot, drain: true, count: own });
    left -= own;
    idle -= own;
  }
  const held = ({ counts }: EniSummary): number => counts.offered + counts.bound + counts.reserved;
  for (const eni of quiet.sort((a, b) => held(a) - held(b) || a.counts.idle - b.counts.idle || b.slot - a.slot)) {
    if (left <= 0) break;
    const some = handled.has(eni.slot) ? 0 : Math.min(left, eni.sheddable);
    if (some > 0) {
      moves.push({ slot: eni.slot, drain: false, count: some });
      left -= some;
    }
  }
  return moves;
}
