import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { charts } from '../../actors/chart-data.ts';
import { layoutOf } from '../../src/charts/layout.ts';
import type { Box, PlacedChart, Point, TextLine } from '../../src/charts/placed-chart.ts';
import { svgOf } from '../../src/charts/svg.ts';
import type { ChartState } from '../../src/ports/chart-data.ts';

const pictures = 'statecharts/pictures';
const placed = new Map(await Promise.all(charts().map(async (chart) => [chart.id, await layoutOf(chart)] as const)));
const all = charts().map((chart) => ({ chart, drawing: placed.get(chart.id) as PlacedChart }));
const statesOf = (state: ChartState): readonly ChartState[] => [state, ...state.states.flatMap(statesOf)];
const holds = (outer: Box, { x, y }: Point) =>
  x >= outer.x - 1 && y >= outer.y - 1 && x <= outer.x + outer.width + 1 && y <= outer.y + outer.height + 1;
const corners = ({ x, y, width, height }: Box) => [
  { x, y },
  { x: x + width, y: y + height },
];
const overlap = (one: Box, other: Box) =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

t.test('layout: every state has a box within that of the state it is in, and none lies on its sibling', async (t) => {
  for (const { chart, drawing } of all) {
    const boxes = new Map(drawing.states.map((state) => [state.path, state]));
    t.strictSame(
      [...boxes.keys()].sort(),
      statesOf(chart)
        .map(({ path }) => path)
        .sort(),
      chart.id,
    );
    for (const state of statesOf(chart)) {
      const inner = state.states.flatMap(({ path }) => boxes.get(path) ?? []);
      const outer = boxes.get(state.path) as Box;
      t.ok(outer.width > 0 && outer.height > 0);
      t.ok(
        inner.flatMap(corners).every((corner) => holds(outer, corner)),
        `${chart.id} ${state.path} holds its own`,
      );
      const pairs = inner.flatMap((one, index) => inner.slice(index + 1).map((other) => [one, other] as const));
      t.notOk(
        pairs.some(([one, other]) => overlap(one, other)),
        `${chart.id} ${state.path}`,
      );
    }
  }
});

t.test(
  'layout: every transition is on an arrow from its state to its target, with its words, or in its state’s box',
  async (t) => {
    for (const { chart, drawing } of all) {
      const boxes = new Map(drawing.states.map((state) => [state.path, state]));
      const textOf = (lines: readonly TextLine[] | undefined) => (lines ?? []).map(({ text }) => text.trim()).join(' ');
      for (const state of statesOf(chart))
        for (const { event, on, guard, targets, actions } of state.transitions) {
          const words = [on, ...(guard === null || guard === 'inline' ? [] : [`[${guard}]`]), ...actions];
          const told = (text: string) => words.every((word) => text.includes(word));
          if (targets.length === 0) t.ok(told(textOf(boxes.get(state.path)?.lines)), `${chart.id} ${state.path} ${on}`);
          for (const target of targets) {
            const arrow = drawing.arrows.find(({ from, to }) => from === state.path && to === target);
            t.ok(arrow?.events.includes(event), `${chart.id} ${state.path} to ${target}`);
            t.ok(told(textOf(arrow?.label?.lines)), `${chart.id} ${state.path} ${on}: ${words.join(' ')}`);
            const [begin, end] = [arrow?.points[0], arrow?.points.at(-1)];
            t.ok(begin && holds(boxes.get(state.path) as Box, begin), 'begins at its state');
            t.ok(end && holds(boxes.get(target) as Box, end), 'ends at its target');
          }
        }
      t.strictSame(
        drawing.initials.map(({ of }) => of),
        statesOf(chart).flatMap(({ initial }) => initial ?? []),
      );
    }
  },
);

t.test('layout: no label lies on a state that holds no others, nor on another label', async (t) => {
  for (const { chart, drawing } of all) {
    const labels = drawing.arrows.flatMap(({ label }) => label ?? []);
    const leaves = drawing.states.filter(({ type }) => type === 'atomic' || type === 'final');
    const inner = leaves.filter(({ path }) => path !== '');
    t.notOk(
      labels.some((label) => inner.some((state) => overlap(label, state))),
      chart.id,
    );
    t.notOk(
      labels.some((label, index) => labels.slice(index + 1).some((other) => overlap(label, other))),
      chart.id,
    );
  }
});

t.test('pictures: those of the repository are those of the charts (npm run charts renews them)', async (t) => {
  t.strictSame(readdirSync(pictures).sort(), all.map(({ chart }) => `${chart.id}.svg`).sort());
  for (const { chart, drawing } of all)
    t.equal(readFileSync(`${pictures}/${chart.id}.svg`, 'utf8') === svgOf(drawing), true, `${chart.id}.svg is current`);
});

t.test('pictures: no script, nothing from elsewhere, dark where the reader’s system is', async (t) => {
  for (const { drawing } of all) {
    const svg = svgOf(drawing);
    t.match(svg, /prefers-color-scheme: dark/);
    const references = [...svg.matchAll(/https?:\/\/[^"]+/g)].map(([url]) => url);
    t.strictSame(references, ['http://www.w3.org/2000/svg'], 'but for the name of SVG');
    t.notMatch(svg, /<script|@import|href|\son\w+=/);
  }
});

t.test('layout: the same chart has the same places', async (t) => {
  const [lease] = charts().filter(({ id }) => id === 'lease');
  t.strictSame(lease && (await layoutOf(lease)), placed.get('lease'));
});
