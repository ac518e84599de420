/** Pods of StatefulSets: each comes back under its name, mostly to the node it was on. */
import type { Deed } from './deed.ts';
import type { Seeded } from './seeded.ts';

/** A pod of a StatefulSet: its containers come one after another, `set0#1`, `set0#2`, mostly on one node. */
export type SetPod = { readonly pod: string; node: number; made: number; live: string | null };

export function setDeeds(fates: Seeded, nodes: number, sets: readonly [SetPod, ...SetPod[]]): readonly Deed[] {
  const one = fates.pick(sets);
  const { node, live } = one;
  const anew = (at: number): Deed => {
    one.made += 1;
    one.node = at;
    one.live = `${one.pod}#${one.made}`;
    return { do: 'add', node: at, container: one.live, withinMs: fates.pick([2_000, 30_000, 110_000]), abortMs: null };
  };
  if (live === null) return [anew(fates.chance(0.7) ? node : fates.between(0, nodes - 1))];
  const kind = fates.fraction();
  // A new sandbox, and the DEL of the old one late, or never.
  if (kind < 0.25) return [anew(node), ...(fates.chance(0.5) ? [{ do: 'del', node, container: live } as const] : [])];
  one.live = null;
  if (kind < 0.4) return [{ do: 'fate', node, container: live, fate: 'deleted' }];
  return [{ do: 'del', node, container: live }];
}
