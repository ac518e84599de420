/** Virtual time that goes on by itself as long as something is due, until the test ends: for suites that simply await. */
import type { Test } from 'tap';
import { VirtualClock } from '../../src/simulation/virtual-clock.ts';

export function runningClock(t: Pick<Test, 'teardown'>, nowMs = 0): VirtualClock {
  const clock = new VirtualClock(nowMs);
  let turning: NodeJS.Immediate;
  const turn = (): void => {
    clock.fireNext();
    turning = setImmediate(turn);
  };
  turn();
  t.teardown(() => clearImmediate(turning));
  return clock;
}
