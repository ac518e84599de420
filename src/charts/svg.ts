/**
 * A laid out chart as a picture: one SVG without script, fonts or anything from elsewhere. Light or dark is what the reader's
 * system is set to; a page that shows it inline may set the variables itself.
 */
import { FONT_PX, NAME_FONT_PX } from './layout.ts';
import type { PlacedArrow, PlacedChart, PlacedInitial, PlacedState, Point, TextLine } from './placed-chart.ts';

const CORNER_PX = 6;

const style = `
  .chart { --paper: #ffffff; --box: #f6f8fa; --line: #8c959f; --ink: #1f2328; --soft: #59636e; --event: #0550ae; --call: #6639ba; --alarm: #cf222e; --end: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    .chart { --paper: #0d1117; --box: #161b22; --line: #6e7681; --ink: #e6edf3; --soft: #9198a1; --event: #79c0ff; --call: #d2a8ff; --alarm: #ff7b72; --end: #56d364; }
  }
  .chart .paper { fill: var(--paper); }
  .chart .state rect { fill: var(--box); stroke: var(--line); }
  .chart .outer rect { fill: var(--paper); }
  .chart .final rect { stroke: var(--end); }
  .chart .alarm > rect { stroke: var(--alarm); }
  .chart text { font: ${FONT_PX}px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: var(--soft); white-space: pre; }
  .chart .name { font-size: ${NAME_FONT_PX}px; font-weight: 600; fill: var(--ink); }
  .chart .invoke { fill: var(--call); }
  .chart .event { fill: var(--event); }
  .chart .tags { fill: var(--alarm); }
  .chart .arrow path { fill: none; stroke: var(--line); }
  .chart .arrow .bar { stroke-width: 3; }
  .chart .tip { fill: var(--line); }
  .chart .dot { fill: var(--ink); }
  .chart .label rect { fill: var(--paper); opacity: 0.85; }
`;

export function svgOf(chart: PlacedChart): string {
  const { id, width, height, states, initials, arrows } = chart;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(`the statechart ${id}`)}</title>`,
    `<style>${style}</style>`,
    `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...states.map(stateElement),
    ...initials.map(initialElement),
    ...arrows.map(arrowElement),
    ...arrows.map(labelElement),
    '</svg>',
    '',
  ].join('\n');
}

function stateElement({ path, type, tags, x, y, width, height, lines }: PlacedState): string {
  const inner = `<rect x="${x + 3}" y="${y + 3}" width="${width - 6}" height="${height - 6}" rx="5"/>`;
  const outer = type === 'compound' || type === 'parallel' || path === '';
  const looks = ['state', ...(outer ? ['outer'] : []), ...(type === 'final' ? ['final'] : []), ...tags];
  return [
    `<g class="${escaped(looks.join(' '))}" data-state="${escaped(path)}">`,
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="7"/>`,
    ...(type === 'final' ? [inner] : []),
    ...lines.map(textElement),
    '</g>',
  ].join('');
}

function initialElement({ x, y, radius, of, points }: PlacedInitial): string {
  const dot = `<circle class="dot" cx="${x}" cy="${y}" r="${radius}"/>`;
  return `<g class="arrow" data-begins="${escaped(of)}">${dot}<path d="${routeOf(points)}" marker-end="url(#tip)"/></g>`;
}

function arrowElement({ from, to, points, inward }: PlacedArrow): string {
  const [begin] = points;
  const bar = inward && begin !== undefined ? `<path class="bar" d="M${begin.x - 8} ${begin.y}h16"/>` : '';
  return `<g class="arrow" data-from="${escaped(from)}" data-to="${escaped(to)}">${bar}<path d="${routeOf(points)}" marker-end="url(#tip)"/></g>`;
}

function labelElement({ from, to, label }: PlacedArrow): string {
  if (label === null) return '';
  const { x, y, width, height, lines } = label;
  const paper = `<rect x="${x}" y="${y}" width="${width}" height="${height}"/>`;
  return `<g class="label" data-from="${escaped(from)}" data-to="${escaped(to)}">${paper}${lines.map(textElement).join('')}</g>`;
}

function textElement({ kind, text, at }: TextLine): string {
  return `<text class="${kind}" x="${at.x}" y="${at.y}">${escaped(text)}</text>`;
}

/** Straight lines with rounded corners. */
export function routeOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  const parts = [`M${first.x} ${first.y}`];
  let before = first;
  for (const [index, point] of rest.entries()) {
    const after = rest[index + 1];
    if (after === undefined) parts.push(`L${point.x} ${point.y}`);
    else {
      const [begin, end] = [towards(point, before), towards(point, after)];
      parts.push(`L${begin.x} ${begin.y}Q${point.x} ${point.y} ${end.x} ${end.y}`);
    }
    before = point;
  }
  return parts.join('');
}

/** As far from a corner as its rounding begins: half of a short line at most. */
function towards(corner: Point, other: Point): Point {
  const [dx, dy] = [other.x - corner.x, other.y - corner.y];
  const length = Math.hypot(dx, dy);
  const share = length === 0 ? 0 : Math.min(CORNER_PX, length / 2) / length;
  const near = (from: number, by: number) => Math.round((from + by * share) * 10) / 10;
  return { x: near(corner.x, dx), y: near(corner.y, dy) };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
