import t from 'tap';
import { createActor, fromCallback, fromPromise, SimulatedClock } from 'xstate';
import type { Drift } from '../../src/core/drift.ts';
import type { RepairNews } from '../../src/core/repair-ledger.ts';
import {
  type KernelKeeperInput,
  kernelKeeperMachine,
  type Sweep,
  type Swept,
} from '../../statecharts/kernel-keeper.ts';

const input: KernelKeeperInput = {
  periodMs: 60_000,
  gatherMs: 500,
  backoffMs: 200,
  backoffMaxMs: 1_000,
  repairTimes: { repairWaitMs: 1_000, repairWaitMaxMs: 60_000, periodMs: 30_000, patienceMs: 10_000 },
  nowMs: 0,
};
const drift: Drift = { kind: 'podRule', object: 'a', pod: null, outcome: 'repaired', detail: null };
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The keeper with a hand whose answers the test gives, on a clock of its own. */
function stage(more: { answer?: (asked: Sweep, nowMs: number) => Partial<Swept>; fails?: () => boolean } = {}) {
  const clock = new SimulatedClock();
  const sweeps: { atMs: number; asked: Sweep; thorough: boolean }[] = [];
  const told: RepairNews[] = [];
  const keeper = createActor(
    kernelKeeperMachine.provide({
      actions: { tellRepairs: (_, { news }) => void told.push(...news) },
      actors: {
        watch: fromCallback(() => undefined),
        sweep: fromPromise(async ({ input: asked }) => {
          const atMs = clock.now();
          const thorough = atMs >= asked.thoroughFromMs;
          sweeps.push({ atMs, asked, thorough });
          if (more.fails?.() === true) throw new Error('no netlink');
          return { atMs, value: { drifts: [], nextDueMs: null, thorough, ...more.answer?.(asked, atMs) } };
        }),
      },
    }),
    { input, clock },
  );
  keeper.start();
  const pass = async (ms: number, step = 100): Promise<void> => {
    for (let passed = 0; passed < ms; passed += step) {
      clock.increment(step);
      await settled();
    }
  };
  const changed = () => keeper.send({ type: 'kernelChanged', atMs: clock.now() });
  return { keeper, sweeps, told, pass, changed, started: settled() };
}

t.test('kernelKeeper: it looks at once, then every period, thoroughly', async (t) => {
  const { sweeps, pass, started, keeper } = stage();
  await started;
  t.match(sweeps, [{ atMs: 0, thorough: true }]);
  t.equal(keeper.getSnapshot().value, 'resting');
  await pass(125_000, 500);
  t.strictSame(
    sweeps.map(({ atMs }) => atMs),
    [0, 60_000, 120_000],
  );
  t.ok(sweeps.every(({ thorough }) => thorough));
});

t.test(
  'kernelKeeper: many changes are one look, and changes all the time do not keep the thorough one away',
  async (t) => {
    const { sweeps, pass, changed, started } = stage();
    await started;
    await pass(1_000);
    for (let at = 0; at < 5; at += 1) changed();
    await pass(1_000);
    t.strictSame(
      sweeps.map(({ atMs, thorough }) => [atMs, thorough]),
      [
        [0, true],
        [1_500, false],
      ],
    );
    for (let at = 0; at < 1_200; at += 1) {
      changed();
      await pass(100);
    }
    t.ok(sweeps.length < 260, `${sweeps.length} looks in two minutes of changes`);
    t.equal(sweeps.filter(({ thorough }) => thorough).length, 3);
  },
);

t.test('kernelKeeper: a change during the look leads to another one', async (t) => {
  const { sweeps, pass, changed, started } = stage();
  changed();
  await started;
  await pass(1_000);
  t.strictSame(
    sweeps.map(({ atMs }) => atMs),
    [0, 500],
  );
});

t.test('kernelKeeper: what may not be touched yet is touched when its wait is over', async (t) => {
  const repaired: number[] = [];
  const answer = (asked: Sweep, nowMs: number) => {
    const held = asked.heldOff.some(({ untilMs }) => untilMs > nowMs);
    if (!held) repaired.push(nowMs);
    return { drifts: [{ ...drift, outcome: held ? 'heldOff' : 'repaired' } as const] };
  };
  const { told, pass, changed, started, keeper } = stage({ answer });
  await started;
  for (let at = 0; at < 600; at += 1) {
    changed();
    await pass(100);
  }
  t.strictSame(
    repaired.slice(0, 4).map((atMs) => Math.floor(atMs / 1_000)),
    [0, 1, 3, 7],
  );
  t.match(told, [{ contested: false }, { contested: true }]);
  t.equal(keeper.getSnapshot().context.repairs, repaired.length);
  const before = repaired.length;
  await pass(60_000, 500);
  t.ok(repaired.length > before, 'also when nothing tells of a change');
});

t.test('kernelKeeper: a look that fails is tried again, ever later, and the failures are forgotten', async (t) => {
  let failing = true;
  const { sweeps, pass, started, keeper } = stage({ fails: () => failing });
  await started;
  await pass(5_000);
  t.strictSame(
    sweeps.slice(0, 5).map(({ atMs }) => atMs),
    [0, 200, 600, 1_400, 2_400],
  );
  t.ok(keeper.getSnapshot().hasTag('alarm'));
  failing = false;
  await pass(1_000);
  t.match(keeper.getSnapshot(), { value: 'resting', context: { failures: 0 } });
});

t.test('kernelKeeper: what a released sandbox left is looked for when its grace is over', async (t) => {
  let first = true;
  const answer = (_: Sweep, nowMs: number) => {
    const nextDueMs = first ? nowMs + 15_000 : null;
    first = false;
    return { nextDueMs };
  };
  const { sweeps, pass, started } = stage({ answer });
  await started;
  await pass(20_000, 500);
  t.strictSame(
    sweeps.map(({ atMs }) => atMs),
    [0, 15_000],
  );
});
