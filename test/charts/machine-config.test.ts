import t from 'tap';
import { type AnyStateMachine, createMachine } from 'xstate';
import { chartData, charts } from '../../actors/chart-data.ts';
import { machineConfigOf } from '../../src/charts/machine-config.ts';

/** Without the order between different events, which no machine knows: guards are asked in order within one. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'transitions'
        ? (inner as { event: string }[]).toSorted((a, b) => (a.event < b.event ? -1 : a.event > b.event ? 1 : 0))
        : sorted(inner),
    ]),
  );
};

t.test('machine config: XState makes of each chart’s JSON the very same chart', async (t) => {
  for (const chart of charts()) {
    const config = JSON.parse(JSON.stringify(machineConfigOf(chart)));
    const again = createMachine(config) as AnyStateMachine;
    t.strictSame(sorted(chartData(again)), sorted(chart), chart.id);
  }
});

t.test('machine config: what a chart’s author would write', async (t) => {
  const lease = charts().find(({ id }) => id === 'lease');
  const config = lease && machineConfigOf(lease);
  t.match(config, { id: 'lease', initial: 'appearing' });
  t.match(config?.states?.opening?.states?.waiting?.on, { vacated: [{ target: 'allocating' }] });
  t.match(config?.states?.opening?.states?.allocating?.on, { granted: [{ target: '#lease.persisting' }] });
  t.match(config?.states?.persisting?.invoke, [{ src: 'persist', onDone: [{ guard: { type: 'nobodyAsks' } }, {}] }]);
  t.strictSame(config?.states?.gone, { type: 'final' });
});
