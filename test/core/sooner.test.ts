import t from 'tap';
import { bookOf, countsOf } from '../../src/core/address-book.ts';
import type { EniSummary } from '../../src/core/eni-summary.ts';
import { noHolds } from '../../src/core/holds.ts';
import type { PlacementPolicy } from '../../src/core/placement.ts';
import { type Stranded, sooner } from '../../src/core/sooner.ts';

const policy: PlacementPolicy = {
  maxEnis: 3,
  foreignEnis: 0,
  looking: false,
  ipv4PerEni: 4,
  eniPolicy: 'most_ips',
  vSwitchIds: ['vsw-1'],
  vSwitch: { policy: 'ordered', seed: 0, nth: 0, free: {} },
  holds: noHolds,
};
const eni = (slot: number, idle: number, more: Partial<EniSummary> = {}): EniSummary => ({
  slot,
  phase: 'ready',
  eniId: `eni-${slot}`,
  vSwitchId: 'vsw-1',
  ours: true,
  limit: 4,
  counts: countsOf(
    bookOf(
      Array.from({ length: idle }, (_, n) => `192.0.2.${10 * slot + n}`),
      0,
    ),
  ),
  sheddable: 0,
  arriving: 0,
  queued: 0,
  heard: 0,
  lastFailure: null,
  ...more,
});
const opening = (slot: number, more: Partial<EniSummary> = {}): EniSummary =>
  eni(slot, 0, { phase: 'opening', arriving: 2, queued: 2, ...more });
const stranded = (requestId: string, slot: number): Stranded => ({
  ...{ requestId, slot, pod: `pod-${requestId}`, sinceMs: 0, untilMs: 60_000 },
});

t.test('sooner: whoever has waited longest gets what turns up elsewhere, and no more than there is', (t) => {
  const requests = [stranded('a', 1), stranded('b', 1), stranded('c', 2)];
  t.same(sooner(requests, [eni(0, 2), opening(1), opening(2)], policy, 0), [
    { requestId: 'a', from: 1, to: 0 },
    { requestId: 'b', from: 1, to: 0 },
  ]);
  t.same(sooner(requests, [eni(0, 0), opening(1), opening(2)], policy, 0), []);
  t.end();
});

t.test('sooner: an ENI that backs off gives what it has; one that is opened, or goes, does not', (t) => {
  const to = (phase: EniSummary['phase']) => sooner([stranded('a', 1)], [eni(0, 1, { phase }), opening(1)], policy, 0);
  t.same(to('holding'), [{ requestId: 'a', from: 1, to: 0 }]);
  for (const phase of ['opening', 'leaving', 'faulty', 'lost'] as const) t.same(to(phase), [], phase);
  t.end();
});

t.test('sooner: a pod stays where an address is kept for it, and nobody is moved for one that only rests', (t) => {
  const kept = opening(1, { reserved: [{ pod: 'pod-a', untilMs: 60_000 }] });
  t.same(sooner([stranded('a', 1), stranded('b', 1)], [eni(0, 2), kept], policy, 0), [
    { requestId: 'b', from: 1, to: 0 },
  ]);
  const cooling = { ...countsOf([]), cooling: 2 };
  t.same(sooner([stranded('a', 1)], [eni(0, 0, { counts: cooling }), opening(1)], policy, 0), []);
  t.end();
});

t.test('sooner: whoever has an address kept elsewhere by now is moved to it, though nothing is idle', (t) => {
  const counts = { ...countsOf([]), reserved: 1 };
  const kept = eni(0, 0, { counts, reserved: [{ pod: 'pod-b', untilMs: 60_000 }] });
  t.same(sooner([stranded('a', 1), stranded('b', 1)], [kept, opening(1)], policy, 0), [
    { requestId: 'b', from: 1, to: 0 },
  ]);
  t.end();
});
