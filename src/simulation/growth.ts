/**
 * Whether a node remembers more and more: how much is in the contexts of its actors and on its disk, looked at again and again. What pods
 * and ENIs need comes and goes with them; what is more at the emptiest hour of the last days than at the fullest of the first ones is
 * forgotten by nobody.
 */
import type { AnyActorRef } from 'xstate';
import { REPAIRS_MAX } from '../core/repair-ledger.ts';
import { SUBLEVELS } from '../ports/store.ts';
import type { SimNode } from './sim-node.ts';

/** Values in the contexts of each chart's actors, and records on disk by sublevel. */
export type Size = Readonly<Record<string, number>>;

/** A few values more are no growth. */
const SLACK = 20;
/** Of looks in a third: fewer tell of the hour and not of the days. */
const LOOKS_MIN = 3;

/** What fills up to a bound of its own: the repair ledger remembers the last things that were repaired, each in a dozen values. */
const BOUNDS: Size = { 'kernelKeeper in memory': 12 * REPAIRS_MAX };

export function sizeOf(node: SimNode): Size {
  const size: Record<string, number> = {};
  for (const sublevel of SUBLEVELS) size[`${sublevel} on disk`] = node.disk.synced(sublevel).size;
  for (const ref of node.actors) {
    const snapshot = ref.getSnapshot() as { readonly context?: unknown } | undefined;
    const name = `${nameOf(ref)} in memory`;
    size[name] = (size[name] ?? 0) + valuesIn(snapshot?.context);
  }
  return size;
}

/** Sentences about what has grown from the first third of the looks to the last. */
export function grown(looks: readonly Size[]): readonly string[] {
  const third = Math.floor(looks.length / 3);
  if (third < LOOKS_MIN) return [];
  const all = (some: readonly Size[], name: string): readonly number[] => some.map((size) => size[name] ?? 0);
  const names = new Set(looks.flatMap((size) => Object.keys(size)));
  return [...names].flatMap((name) => {
    const most = Math.max(...all(looks.slice(0, third), name));
    const least = Math.min(...all(looks.slice(-third), name));
    return least > Math.max(most + SLACK, BOUNDS[name] ?? 0)
      ? [`${name}: at most ${most} in the first days, at least ${least} in the last ones`]
      : [];
  });
}

const nameOf = ({ logic }: AnyActorRef & { readonly logic?: { readonly id?: string } }): string => logic?.id ?? 'other';

/** Numbers, texts and the like, however deep; actors are none. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  if ('getSnapshot' in value) return 0;
  const inside = value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value);
  return inside.reduce((sum: number, one) => sum + valuesIn(one), 0);
}
