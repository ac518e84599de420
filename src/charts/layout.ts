/**
 * Gives every state, arrow and word of a chart its place, with the layered layout of the Eclipse Layout Kernel, which knows states within
 * states and keeps room for labels. The same chart has the same places, wherever it is laid out: widths of texts are reckoned from their
 * length (the letters are monospaced), never measured, so that neither a browser nor fonts are needed. Runs in Node and in a browser.
 *
 * An arrow from a state to one within itself begins at a small bar in that state, "wherever it is in here": as an edge of its border
 * the layout would lead it around the outside.
 * Source: eclipse.dev/elk, algorithm `layered`, options by their full names.
 */
import elkjs from 'elkjs/lib/elk.bundled.js';
import type { ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import type { ChartData, ChartState, ChartTransition } from '../ports/chart-data.ts';
import { arrowsWords, stateWords, type Words } from './chart-text.ts';
import type { Box, PlacedArrow, PlacedChart, PlacedInitial, PlacedState, Point, TextLine } from './placed-chart.ts';

/** Of the letters, at FONT_PX: an advance of 0.6 em is what monospaced fonts have (Menlo, Consolas and DejaVu within 2 %). */
export const FONT_PX = 11;
const CHAR_PX = 6.65;
const LINE_PX = 15;
export const NAME_FONT_PX = 13;
const NAME_CHAR_PX = 8;
const NAME_LINE_PX = 20;
const PAD_PX = 10;
const DOT_RADIUS = 5;

const options = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.randomSeed': '1',
  'elk.layered.cycleBreaking.strategy': 'DEPTH_FIRST',
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.spacing.nodeNodeBetweenLayers': '28',
  'elk.layered.spacing.edgeNodeBetweenLayers': '14',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.edgeNode': '16',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeLabel': '4',
};

export async function layoutOf(chart: ChartData): Promise<PlacedChart> {
  const arrows = arrowsOf(chart);
  const elk = new elkjs.default();
  const laidOut = await elk.layout<ElkNode>({
    id: 'drawing',
    layoutOptions: { ...options, 'elk.padding': padding(PAD_PX) },
    children: [nodeOf(chart, chart.id, arrows)],
    edges: [...initialsOf(chart).map(initialEdge), ...arrows.map(arrowEdge)],
  });
  const boxes = new Map(allBoxes(laidOut).map((node) => [node.id, boxOf(node)]));
  const routes = new Map((laidOut.edges ?? []).map((edge) => [edge.id, edge]));
  return {
    id: chart.id,
    width: Math.ceil(laidOut.width ?? 0),
    height: Math.ceil(laidOut.height ?? 0),
    states: statesOf(chart).map((state) => placedState(state, chart.id, boxes)),
    initials: initialsOf(chart).map((state) => placedInitial(state, boxes, routes)),
    arrows: arrows.map((arrow) => placedArrow(arrow, routes)),
  };
}

type Arrow = { readonly from: ChartState; readonly to: string; readonly transitions: readonly ChartTransition[] };

function arrowsOf(chart: ChartData): readonly Arrow[] {
  return statesOf(chart).flatMap((from) => {
    const to = new Map<string, ChartTransition[]>();
    for (const transition of from.transitions)
      for (const target of transition.targets) to.set(target, [...(to.get(target) ?? []), transition]);
    return [...to].map(([target, transitions]) => ({ from, to: target, transitions }));
  });
}

const statesOf = (state: ChartState): readonly ChartState[] => [state, ...state.states.flatMap(statesOf)];
const initialsOf = (chart: ChartData) => statesOf(chart).filter(({ initial }) => initial !== null);

const stateId = (path: string) => `state ${path}`;
const dotId = (path: string) => `dot ${path}`;
const barId = (path: string) => `bar ${path}`;
const arrowId = ({ from, to }: Arrow) => `arrow ${from.path} to ${to}`;
const within = (path: string, outer: string) => outer === '' || path === outer || path.startsWith(`${outer}.`);
const leadsInside = ({ from, to }: Arrow) => from.states.length > 0 && within(to, from.path);

function nodeOf(state: ChartState, chartId: string, arrows: readonly Arrow[]): ElkNode {
  const { width, height } = sizeOf(wordsOf(state, chartId));
  const id = stateId(state.path);
  const size = { 'elk.nodeSize.constraints': 'MINIMUM_SIZE' };
  if (state.states.length === 0) return { id, width: width + 2 * PAD_PX, height: height + PAD_PX + 2 };
  const bar = arrows.some((arrow) => arrow.from === state && leadsInside(arrow));
  return {
    id,
    layoutOptions: {
      ...options,
      ...size,
      'elk.nodeSize.minimum': `(${width + 2 * PAD_PX},${height + 2 * PAD_PX})`,
      'elk.padding': padding(PAD_PX + 6, height + PAD_PX),
    },
    children: [
      ...(state.initial === null ? [] : [{ id: dotId(state.path), width: 2 * DOT_RADIUS, height: 2 * DOT_RADIUS }]),
      ...(bar ? [{ id: barId(state.path), width: 4 * DOT_RADIUS, height: 4 }] : []),
      ...state.states.map((one) => nodeOf(one, chartId, arrows)),
    ],
  };
}

function padding(sides: number, top = sides): string {
  return `[top=${top},left=${sides},bottom=${sides},right=${sides}]`;
}

function initialEdge({ path, initial }: ChartState): ElkExtendedEdge {
  return { id: dotId(path), sources: [dotId(path)], targets: [stateId(initial ?? '')] };
}

function arrowEdge(arrow: Arrow): ElkExtendedEdge {
  const id = arrowId(arrow);
  const { width, height } = sizeOf(wordsBeside(arrow));
  return {
    id,
    sources: [leadsInside(arrow) ? barId(arrow.from.path) : stateId(arrow.from.path)],
    targets: [stateId(arrow.to)],
    labels: [{ id: `label ${id}`, width: width + 6, height, text: ' ' }],
  };
}

const wordsOf = (state: ChartState, chartId: string) =>
  stateWords(state, state.path === '' ? chartId : (state.path.split('.').at(-1) ?? ''));
const wordsBeside = ({ transitions }: Arrow) => arrowsWords(transitions);

function sizeOf(words: readonly Words[]): { readonly width: number; readonly height: number } {
  const widths = words.map(({ kind, text }) => text.length * (kind === 'name' ? NAME_CHAR_PX : CHAR_PX));
  return { width: Math.ceil(Math.max(0, ...widths)), height: words.reduce((sum, line) => sum + heightOf(line), 0) };
}

const heightOf = ({ kind }: Words) => (kind === 'name' ? NAME_LINE_PX : LINE_PX);

/** The lines below one another, the first at the top of where they are to be. */
function placedLines(words: readonly Words[], { x, y }: Point): readonly TextLine[] {
  let below = y;
  return words.map((line) => {
    below += heightOf(line);
    return { ...line, at: { x: rounded(x), y: rounded(below - 4) } };
  });
}

function placedState(state: ChartState, chartId: string, boxes: ReadonlyMap<string, Box>): PlacedState {
  const { path, type, tags } = state;
  const box = boxes.get(stateId(path)) ?? nowhere;
  return { path, type, tags, ...box, lines: placedLines(wordsOf(state, chartId), { x: box.x + PAD_PX, y: box.y + 3 }) };
}

function placedInitial(
  { path, initial }: ChartState,
  boxes: ReadonlyMap<string, Box>,
  routes: ReadonlyMap<string, ElkExtendedEdge>,
): PlacedInitial {
  const { x, y } = boxes.get(dotId(path)) ?? nowhere;
  const points = pointsOf(routes.get(dotId(path)));
  return { x: x + DOT_RADIUS, y: y + DOT_RADIUS, radius: DOT_RADIUS, of: initial ?? '', points };
}

function placedArrow(arrow: Arrow, routes: ReadonlyMap<string, ElkExtendedEdge>): PlacedArrow {
  const { from, to, transitions } = arrow;
  const route = routes.get(arrowId(arrow));
  const [label] = route?.labels ?? [];
  const box = label === undefined ? null : boxOf(label);
  return {
    from: from.path,
    to,
    inward: leadsInside(arrow),
    events: [...new Set(transitions.map(({ event }) => event))],
    points: pointsOf(route),
    label: box && { ...box, lines: placedLines(wordsBeside(arrow), { x: box.x + 3, y: box.y }) },
  };
}

function pointsOf(route: ElkExtendedEdge | undefined): readonly Point[] {
  const [section] = route?.sections ?? [];
  if (section === undefined) return [];
  const all = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
  return all.map(({ x, y }) => ({ x: rounded(x), y: rounded(y) }));
}

const nowhere: Box = { x: 0, y: 0, width: 0, height: 0 };

const allBoxes = (node: ElkNode): readonly ElkNode[] => [node, ...(node.children ?? []).flatMap(allBoxes)];

function boxOf({ x = 0, y = 0, width = 0, height = 0 }: Partial<Box>): Box {
  return { x: rounded(x), y: rounded(y), width: rounded(width), height: rounded(height) };
}

/** A tenth of a pixel is as exact as anybody sees, and keeps drawings short. */
const rounded = (value: number) => Math.round(value * 10) / 10;
