import t from 'tap';
import { createActor, fromCallback, fromPromise, SimulatedClock, setup } from 'xstate';
import type { CloudEni } from '../../src/core/eni.ts';
import type { AdoptedEni } from '../../statecharts/adopted-eni.ts';
import type { At } from '../../statecharts/at.ts';
import { cloudKeeperMachine } from '../../statecharts/cloud-keeper.ts';
import type { FactoryEvent } from '../../statecharts/messages.ts';
import { ENI_FACTORY } from '../../statecharts/receptionist.ts';

const PERIOD_MS = 1_000;

const stray = (eniId: string): AdoptedEni => ({
  eni: { eniId, ipv4: [], ipv6: [] } as unknown as CloudEni,
  ours: true,
  subnet: { ipv4Cidr: '192.0.2.0/24' } as unknown as AdoptedEni['subnet'],
  held: new Map(),
  coolUntilMs: new Map(),
  routeTable: null,
});

/** The keeper beside a factory that only notes what it hears; `looks` are its answers, a rejection where there is none. */
async function stage(...looks: readonly (readonly string[] | null)[]) {
  const clock = new SimulatedClock();
  const found: { id: string; atMs: number }[] = [];
  const askedAtMs: number[] = [];
  const settled = async (): Promise<void> => {
    for (let turns = 0; turns < 5; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  };
  const keeper = cloudKeeperMachine.provide({
    actors: {
      listStrays: fromPromise<At<readonly AdoptedEni[]>, { suspects: readonly string[] }>(async () => {
        const look = looks[askedAtMs.length] ?? (askedAtMs.length < looks.length ? null : []);
        askedAtMs.push(clock.now());
        if (look === null) throw new Error('throttled');
        return { atMs: clock.now(), value: look.map(stray) };
      }),
    },
  });
  const factory = fromCallback<FactoryEvent>(({ receive }) => {
    receive((event) => {
      if (event.type === 'eniFound') found.push({ id: event.found.eni?.eniId ?? '', atMs: clock.now() });
    });
  });
  const root = createActor(
    setup({ actors: { keeper, factory } }).createMachine({
      invoke: [
        { src: 'factory', id: ENI_FACTORY, systemId: ENI_FACTORY },
        { src: 'keeper', id: 'keeper', input: { periodMs: PERIOD_MS, seed: 0, nowMs: 0 } },
      ],
    }),
    { clock },
  ).start();
  for (let passedMs = 0; passedMs < 4 * PERIOD_MS; passedMs += 50) {
    clock.increment(50);
    await settled();
  }
  type Seen = { context: { found: number; failures: number; suspects: readonly string[] } };
  const ref = root.getSnapshot().children.keeper as { getSnapshot(): unknown };
  const { context } = ref.getSnapshot() as Seen;
  root.stop();
  return { found, askedAtMs, context };
}

t.test(
  'cloudKeeper: what is seen once is looked at again soon, and only what is seen twice is handed over',
  async (t) => {
    const { found, askedAtMs, context } = await stage(['eni-gone', 'eni-stays'], ['eni-stays', 'eni-new']);
    t.same(askedAtMs.slice(0, 3), [1_000, 1_250, 2_250]);
    t.same(found, [{ id: 'eni-stays', atMs: 1_250 }]);
    t.equal(context.found, 1);
  },
);

t.test('cloudKeeper: where nothing is strange it asks once a period', async (t) => {
  const { found, askedAtMs } = await stage();
  t.same(askedAtMs, [1_000, 2_000, 3_000, 4_000]);
  t.same(found, []);
});

t.test('cloudKeeper: a look that fails proves nothing, and what was seen before it counts no more', async (t) => {
  const { found, askedAtMs, context } = await stage(['eni-1'], null, ['eni-1'], []);
  t.same(askedAtMs.slice(0, 4), [1_000, 1_250, 2_250, 2_500]);
  t.same(found, []);
  t.same([context.failures, context.suspects], [0, []]);
});
