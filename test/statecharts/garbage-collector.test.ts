import t from 'tap';
import type { AnyMachineSnapshot } from 'xstate';
import { EnactorError } from '../../src/core/errors.ts';
import type { HeldLease, SecondLook } from '../../src/core/garbage.ts';
import { garbageCollectorMachine } from '../../statecharts/garbage-collector.ts';
import type { GarbageCollectorContext } from '../../statecharts/garbage-collector-context.ts';
import { type Graph, trapped, walk } from './walk.ts';

const GRACE_MS = 100;
const input = { nodeName: 'n', periodMs: 100, graceMs: GRACE_MS, timeoutMs: 50, backoffMs: 10, nowMs: 0 };
const broken = [new EnactorError('kubernetes', 'no answer')];
const lease: HeldLease = {
  sandbox: 'c/eth0',
  containerId: 'c',
  ifName: 'eth0',
  pod: { namespace: 'd', name: 'p', uid: 'u' },
  boundAtMs: 0,
};
const pod = {
  namespace: 'd',
  name: 'p',
  uid: 'u',
  staticUid: null,
  nodeName: 'n',
  finished: false,
  hostNetwork: false,
};
const contextOf = (snapshot: AnyMachineSnapshot) => snapshot.context as GarbageCollectorContext;
const sandbox = lease.sandbox;
type Looks = { readonly looks: readonly SecondLook[] };
const silent = { failure: { code: 'kubernetes', detail: 'silent' } } as const;
const looks: readonly SecondLook[] = [
  { sandbox, api: { pod: null }, kernel: { runs: false } },
  { sandbox, api: { pod }, kernel: { runs: false } },
  { sandbox, api: { pod: null }, kernel: { runs: true } },
  { sandbox, api: silent, kernel: { runs: false } },
];
const at = (atMs: number) => (value: unknown) => ({ atMs, value });
/** A pass a grace after the last thing known, and one within it. */
const laterThan = ({ nowMs }: GarbageCollectorContext, value: unknown) =>
  nowMs > 4 * GRACE_MS ? [at(nowMs)(value)] : [at(nowMs)(value), at(nowMs + GRACE_MS)(value)];

const explore = (): Graph =>
  walk({
    machine: garbageCollectorMachine,
    input,
    results: (snapshot) => {
      const context = contextOf(snapshot);
      const lists = [
        { leases: [lease], pods: [] },
        { leases: [lease], pods: [pod] },
        { leases: [], pods: [] },
      ];
      const outcomes = [[{ sandbox, failure: null }], [{ sandbox, failure: { code: 'store', detail: 'full' } }]];
      return {
        list: { done: lists.flatMap((value) => laterThan(context, value)), error: broken },
        confirm: { done: looks.map((look) => at(context.nowMs)({ looks: [look], elsewhere: [] })), error: broken },
        collect: { done: outcomes.map(at(context.nowMs)), error: broken },
      };
    },
    events: () => [],
    key: (snapshot) => {
      const { condemned, doomed, nowMs, failures, kept } = contextOf(snapshot);
      return [condemned, doomed.length, Math.min(nowMs, 5 * GRACE_MS), Math.min(failures, 2), kept.length];
    },
  });

t.test('garbageCollector: whatever fails, the next pass comes', async (t) => {
  t.same(
    trapped(explore(), ({ state }) => state === 'listing'),
    [],
  );
});

t.test('garbageCollector: nothing is released that a pass a grace earlier had not found gone', async (t) => {
  const graph = explore();
  const collecting = [...graph.values()].filter(({ state }) => state === 'collecting');
  t.ok(collecting.length > 0);
  for (const { snapshot } of collecting) {
    const { condemned, nowMs } = contextOf(snapshot);
    t.ok(nowMs - (condemned[sandbox]?.sinceMs ?? Number.POSITIVE_INFINITY) >= GRACE_MS);
  }
  const intoIt = [...graph.values()].flatMap(({ state, snapshot, edges }) =>
    edges.filter(({ to }) => to.startsWith('collecting')).map((edge) => ({ state, snapshot, edge })),
  );
  for (const { state, snapshot, edge } of intoIt) {
    t.equal(state, 'confirming');
    t.ok(contextOf(snapshot).condemned[sandbox], 'it was condemned before this look');
    t.strictSame((edge.event.output as { value: Looks }).value.looks[0], looks[0], 'and every witness agreed again');
  }
});

t.test('garbageCollector: a witness that does not answer clears nobody and condemns nobody', async (t) => {
  const silentEdges = [...explore().values()].flatMap(({ state, snapshot, edges }) =>
    edges
      .filter(
        ({ event }) =>
          state === 'confirming' && (event.output as { value: Looks } | undefined)?.value.looks?.[0] === looks[3],
      )
      .map((edge) => ({ before: contextOf(snapshot), after: contextOf(edge.after) })),
  );
  t.ok(silentEdges.length > 1);
  for (const { before, after } of silentEdges) {
    t.strictSame(after.condemned, before.condemned);
    t.match(after.kept[0]?.why, /silent/);
  }
});

t.test('garbageCollector: a release that failed is condemned still, and told', async (t) => {
  const failed = [...explore().values()].flatMap(({ state, edges }) =>
    edges.filter(
      ({ to, event }) => state === 'collecting' && to.startsWith('backingOff') && event.output !== undefined,
    ),
  );
  t.ok(failed.length > 0);
  for (const { after } of failed) {
    t.ok(contextOf(after).condemned[sandbox]);
    t.match(contextOf(after), { failed: 1, collected: 0, lastFailure: { code: 'store' } });
  }
});
