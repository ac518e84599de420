/** What the product's call turns are held against: a client that waits the same time whenever it is throttled. */
import type { Turns } from '../../src/adapters/ecs/in-turn.ts';
import type { Life } from '../../src/simulation/life.ts';

/** Source: what SDKs do that retry by themselves; a little chance, or all nodes would ask together for ever. */
const REST_MS = 2_000;

export function fixedBackoff(life: Life, fraction: () => number): Turns {
  const restUntilMs = new Map<string, number>();
  const take: Turns['take'] = ({ api }) =>
    life.promise((resolve) => {
      const waitMs = (restUntilMs.get(api) ?? 0) - life.nowMs();
      if (waitMs <= 0) resolve();
      else life.after(waitMs, () => resolve());
    });
  return {
    take,
    reserve: take,
    done: () => {},
    throttled: (api) => void restUntilMs.set(api, life.nowMs() + REST_MS * (0.75 + fraction() / 2)),
  };
}
