import t from 'tap';
import type { PlacedArrow } from '../../src/charts/placed-chart.ts';
import { activePaths, litArrows } from '../../src/inspect/page/lit-arrows.ts';

const arrow = (from: string, to: string, ...events: string[]): PlacedArrow => ({
  from,
  to,
  events,
  points: [],
  label: null,
  inward: false,
});

const arrows = [
  arrow('calling', 'judging', 'xstate.done.actor.call'),
  arrow('calling', 'backingOff', 'xstate.done.actor.call', 'xstate.error.actor.call'),
  arrow('judging', 'looking', ''),
  arrow('looking', 'inUse.resting', ''),
  arrow('inUse', 'gone', 'stop'),
  arrow('inUse.resting', 'inUse.asked', 'xstate.done.actor.*'),
];

t.test('lit arrows: the transition that was taken, and those that were taken at once after it', async (t) => {
  t.strictSame([...activePaths('inUse.resting')], ['', 'inUse', 'inUse.resting']);
  t.strictSame(litArrows(arrows, 'calling', 'backingOff', 'xstate.error.actor.call'), [1], 'straight');
  t.strictSame(
    litArrows(arrows, 'calling', 'inUse.resting', 'xstate.done.actor.call'),
    [0, 2, 3],
    'over states left at once',
  );
  t.strictSame(litArrows(arrows, 'inUse.resting', 'gone', 'stop'), [4], 'from the state around');
  t.strictSame(litArrows(arrows, 'inUse.resting', 'inUse.asked', 'xstate.done.actor.child7'), [5], 'by a wildcard');
  t.strictSame(litArrows(arrows, null, 'calling', 'stop'), [], 'where it began nobody came from');
});
