/**
 * What will be done to the world: a list of decisions made from the seed before anything runs, so that a shorter list can be tried
 * when one fails.
 */
import type { Decision, Deed, PlanKinds } from './deed.ts';
import { crash, defect, restart } from './endings.ts';
import { apiFault, fault } from './faults.ts';
import { add, any, del, fated, impatient, newPod, type Pods, turnTide } from './pods.ts';
import type { Seeded } from './seeded.ts';
import { type SetPod, setDeeds } from './set-pods.ts';
import { ambush, outOfBand } from './surprises.ts';

export type PlanOptions = PlanKinds & {
  readonly nodes: number;
  readonly decisions: number;
  readonly startMs: number;
  /** Pods a node may have addresses for. */
  readonly capacity: number;
  /** Between two decisions; moments if not told. */
  readonly gapMs?: (chance: Seeded) => number;
  /** No decision is made after this instant. */
  readonly untilMs?: number;
};

/** @param fates what the API server and the kernel do: of a stream of its own, so that the other choices of a seed stay */
export function planOf(chance: Seeded, options: PlanOptions, fates: Seeded): Decision[] {
  const decisions: Decision[] = [];
  const nodes = Array.from(
    { length: options.nodes },
    (): Pods => ({ live: [], gone: [], made: 0, goal: 0, tideTurnsIn: 0 }),
  );
  // Some worlds are crowded, some nearly empty.
  const crowd = Math.ceil(options.capacity * chance.pick([0.3, 0.7, 1, 1.3]));
  const set = (pod: string): SetPod => ({ pod, node: 0, made: 0, live: null });
  const sets = [set('set0'), set('set1'), set('set2')] as const;
  const { gapMs = momentsMs, untilMs = Number.POSITIVE_INFINITY } = options;
  let atMs = options.startMs;
  while (decisions.length < options.decisions) {
    atMs += gapMs(chance);
    if (atMs > untilMs) break;
    const node = chance.between(0, options.nodes - 1);
    const pods = nodes[node] as Pods;
    turnTide(chance, pods, crowd);
    for (const deed of deeds(chance, options, node, pods)) {
      const one = fated(fates, deed);
      for (const done of [one, ...impatient(fates, one)]) decisions.push({ ...done, atMs });
    }
    if (fates.chance(0.1)) for (const deed of setDeeds(fates, options.nodes, sets)) decisions.push({ ...deed, atMs });
    if (options.faults && fates.chance(0.03)) decisions.push({ ...apiFault(fates, node), atMs });
  }
  return decisions;
}

/** Mostly moments, sometimes a long silence. */
function momentsMs(chance: Seeded): number {
  const kind = chance.fraction();
  if (kind < 0.25) return chance.between(0, 3);
  if (kind < 0.7) return chance.between(5, 400);
  if (kind < 0.95) return chance.between(400, 4_000);
  return chance.between(5_000, 90_000);
}

function deeds(chance: Seeded, options: PlanOptions, node: number, pods: Pods): readonly Deed[] {
  const kind = chance.fraction();
  if (kind < 0.05 && options.crashes) {
    if (chance.chance(0.2)) return [restart(chance, node)];
    return [crash(chance, node)];
  }
  if (kind < 0.13 && options.faults) return fault(chance, node, options.dual);
  if (kind < 0.14 && options.defects) return [defect(chance, node)];
  if (kind < 0.155 && options.outOfBand) return [outOfBand(chance, node)];
  if (kind < 0.17) return [ambush(chance, options, node, pods)];
  if (kind < 0.2) {
    const size = chance.between(2, 8);
    return Array.from({ length: size }, () => add(chance, node, newPod(node, pods)));
  }
  if (kind < 0.23) return pods.live.splice(0, chance.between(1, 8)).map((container) => del(node, container, pods));
  if (kind < 0.29 && pods.live.length > 0) return [add(chance, node, any(chance, pods.live))];
  if (kind < 0.32 && pods.gone.length > 0) return [{ do: 'del', node, container: any(chance, pods.gone) }];
  // The sandbox is asked for again while it is being released.
  if (kind < 0.33 && pods.live.length > 1) {
    const [container] = pods.live.splice(0, 1);
    if (container !== undefined)
      return [del(node, container, pods), add(chance, node, container), del(node, container, pods)];
  }
  // Stopped while callers wait, some of whom will not wait for the end.
  if (kind < 0.333 && options.crashes) {
    const burst = Array.from({ length: chance.between(1, 6) }, () => ({
      ...add(chance, node, newPod(node, pods)),
      abortMs: chance.chance(0.7) ? chance.between(0, 1_800) : null,
    }));
    return [...burst, { ...restart(chance, node), drainMs: 2_000 }];
  }
  if (kind < 0.34) return [{ do: 'del', node, container: `unknown-${node}-${chance.between(0, 99)}` }];
  if (chance.chance(pods.live.length > pods.goal ? 0.8 : 0.15)) {
    const [container] = pods.live.splice(chance.between(0, pods.live.length - 1), 1);
    return container === undefined ? [] : [del(node, container, pods)];
  }
  return [add(chance, node, newPod(node, pods))];
}
