import t from 'tap';
import { charts } from '../../actors/chart-data.ts';
import { mermaidOf } from '../../src/charts/mermaid.ts';
import { chartLines } from '../../src/cli/node-charts.ts';
import { plain } from '../../src/lab/view/paint.ts';
import type { ChartState } from '../../src/ports/chart-data.ts';

const allStates = (state: ChartState): readonly ChartState[] => [state, ...state.states.flatMap(allStates)];

t.test('charts: all of them are there, as JSON can hold them, and every target is a state', async (t) => {
  const all = charts();
  t.strictSame(
    all.map(({ id }) => id),
    ['node', 'leases', 'lease', 'eniFactory', 'eni', 'idlePool', 'garbageCollector', 'cloudKeeper', 'kernelKeeper'],
  );
  t.strictSame(JSON.parse(JSON.stringify(all)), all);
  for (const chart of all) {
    const paths = new Set(allStates(chart).map(({ path }) => path));
    const targets = allStates(chart).flatMap(({ transitions }) => transitions.flatMap((one) => one.targets));
    t.strictSame(
      targets.filter((target) => !paths.has(target)),
      [],
      chart.id,
    );
  }
  const lease = all.find(({ id }) => id === 'lease');
  const persisting = lease?.states.find(({ path }) => path === 'persisting');
  t.match(persisting, { invokes: [{ src: 'persist' }], type: 'atomic' });
  t.match(persisting?.transitions[0], { on: 'done', guard: 'nobodyAsks', targets: ['releasing'] });
});

t.test('charts: a drawing names each state once, and each arrow leads to one of them', async (t) => {
  for (const chart of charts()) {
    const text = mermaidOf(chart);
    const named = [...text.matchAll(/^ *state "[^"]+" as (\w+)/gm)].map(([, id]) => id ?? '');
    const anywhere = chart.transitions.some(({ targets }) => targets.length > 0) ? 1 : 0;
    t.equal(named.length, allStates(chart).length - 1 + anywhere, chart.id);
    t.equal(new Set(named).size, named.length, `${chart.id}: no name twice`);
    const ends = [...text.matchAll(/^ *(\S+) --> ([^:\s]+)/gm)].flatMap(([, from = '', to = '']) => [from, to]);
    t.strictSame(
      ends.filter((end) => end !== '[*]' && !named.includes(end)),
      [],
    );
    t.equal(text.split('{').length, text.split('}').length, 'what is opened is closed');
  }
  const eni = charts().find(({ id }) => id === 'eni');
  t.match(eni && chartLines(eni, plain).join('\n'), /attaching[\s\S]*calls attachEni[\s\S]*inUse/);
});
