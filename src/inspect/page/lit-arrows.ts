/** Which arrows of a chart light up when its actor goes from one state to another. Pure. */
import type { PlacedArrow } from '../../charts/placed-chart.ts';

/** `inUse.assigning` is also in `inUse`, and in the chart itself. */
export function activePaths(state: string | null): ReadonlySet<string> {
  if (state === null) return new Set();
  const parts = state.split('.');
  return new Set(['', ...parts.map((_, index) => parts.slice(0, index + 1).join('.'))]);
}

/** XState's wildcards end in `*`. */
const hears = (pattern: string, type: string): boolean =>
  pattern === type || (pattern.endsWith('*') && type.startsWith(pattern.slice(0, -1)));

/**
 * Indices of arrows. An event that leads through states which are left at once lights the arrow that it took and the one by which the end was
 * reached; those between are not told of.
 */
export function litArrows(
  arrows: readonly PlacedArrow[],
  before: string | null,
  after: string | null,
  event: string,
): readonly number[] {
  const [from, to] = [activePaths(before), activePaths(after)];
  const entered = (path: string): boolean => to.has(path) && (!from.has(path) || path === after);
  const lit = (test: (arrow: PlacedArrow) => boolean): readonly number[] =>
    arrows.flatMap((arrow, index) => (test(arrow) ? [index] : []));
  const direct = lit(
    (arrow) => from.has(arrow.from) && entered(arrow.to) && arrow.events.some((one) => hears(one, event)),
  );
  if (direct.length > 0) return direct;
  const taken = lit((arrow) => from.has(arrow.from) && arrow.events.some((one) => hears(one, event)));
  const last = lit((arrow) => entered(arrow.to) && arrow.events.includes(''));
  return [...taken, ...last];
}
