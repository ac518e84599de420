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
 * Indices of arrows: the one that the event took and, where that led to a state which is left at once, those that led on from there. Of several
 * arrows for one event, with guards that nobody told of, those light up that lead to where the actor is.
 */
export function litArrows(
  arrows: readonly PlacedArrow[],
  before: string | null,
  after: string | null,
  event: string,
): readonly number[] {
  const [from, to] = [activePaths(before), activePaths(after)];
  const entered = (path: string): boolean => to.has(path) && (!from.has(path) || path === after);
  const taken = arrows.flatMap((arrow, index) =>
    from.has(arrow.from) && arrow.events.some((one) => hears(one, event)) ? [index] : [],
  );
  const direct = taken.filter((index) => entered(arrows[index]?.to ?? ''));
  if (direct.length > 0) return direct;
  return [...new Set(taken.flatMap((index) => wayFrom(arrows, index, entered) ?? []))];
}

/** From an arrow over others that are taken at once to a state that was entered; null when there is no such way. */
function wayFrom(
  arrows: readonly PlacedArrow[],
  first: number,
  entered: (path: string) => boolean,
): readonly number[] | null {
  const ways: (readonly number[])[] = [[first]];
  const met = new Set<number>([first]);
  for (let way = ways.shift(); way !== undefined; way = ways.shift()) {
    const at = arrows[way.at(-1) ?? -1]?.to ?? '';
    if (entered(at)) return way;
    for (const [index, { from, events }] of arrows.entries()) {
      // From the state itself, from one around it, or from one that it begins in.
      const here = from === at || at.startsWith(`${from}.`) || from.startsWith(`${at}.`);
      if (!here || !events.includes('') || met.has(index)) continue;
      met.add(index);
      ways.push([...way, index]);
    }
  }
  return null;
}
