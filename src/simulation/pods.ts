/** The pods of a node that come and go in tides, and what their callers do. */
import { type Deed, FATES } from './deed.ts';
import type { Seeded } from './seeded.ts';

/** `goal`: how many are wanted for now. */
export type Pods = { live: string[]; gone: string[]; made: number; goal: number; tideTurnsIn: number };

/** Pods come and go in tides, so that nodes grow to their bounds and shrink to nothing again. */
export function turnTide(chance: Seeded, pods: Pods, crowd: number): void {
  pods.tideTurnsIn -= 1;
  if (pods.tideTurnsIn > 0) return;
  pods.tideTurnsIn = chance.between(10, 40);
  pods.goal = Math.ceil(crowd * chance.pick([0, 0.2, 0.6, 1, 1]));
}

export function newPod(node: number, pods: Pods): string {
  pods.made += 1;
  const container = `n${node}-p${pods.made}`;
  pods.live.push(container);
  return container;
}

export function any(chance: Seeded, list: readonly string[]): string {
  return list[chance.between(0, list.length - 1)] ?? '';
}

export function add(chance: Seeded, node: number, container: string): Deed & { do: 'add' } {
  const withinMs = chance.pick([300, 2_000, 10_000, 30_000, 110_000]);
  return { do: 'add', node, container, withinMs, abortMs: chance.chance(0.08) ? chance.between(0, 4_000) : null };
}

export function del(node: number, container: string, pods: Pods): Deed {
  pods.gone.push(container);
  return { do: 'del', node, container };
}

/** Runtimes ask again for a sandbox that is still being made, leave, and delete it meanwhile. */
export function impatient(fates: Seeded, deed: Deed): readonly Deed[] {
  if (deed.do !== 'add' || !fates.chance(0.08)) return [];
  const { node, container } = deed;
  const again = { ...add(fates, node, container), abortMs: fates.chance(0.6) ? fates.between(0, 200) : null };
  return fates.chance(0.25) ? [again, { do: 'del', node, container }] : [again];
}

/** Some of the pods that go are never deleted at the node. */
export function fated(fates: Seeded, deed: Deed): Deed {
  if (deed.do !== 'del' || !fates.chance(0.15)) return deed;
  return { ...deed, do: 'fate', fate: fates.pick(FATES) };
}
