/** Who reaches whom, in one line and as a matrix, and what the router refused. */
import { pathCount } from '../checks/path-plan.ts';
import { REFUSED_KINDS, type RefusedKind } from '../router/refused.ts';
import type { LabStatus } from '../status/lab-status.ts';
import type { DrawOptions } from './draw-options.ts';
import { pad, widthOf } from './fit.ts';
import type { Hue, Paint } from './paint.ts';

const MATRIX_MAX = 14;
const FAILURES_SHOWN = 3;

const refusedWords: Readonly<Record<RefusedKind, string>> = {
  routingFault: 'routing fault',
  justReleased: 'just released',
  unknownSource: 'unknown source',
  noDestination: 'no destination',
};

type Mark = { readonly hue: Hue; readonly mark: string; readonly word: string };
type MarkKind = 'works' | 'fails' | 'untried' | 'none';

const marks: Readonly<Record<MarkKind, Mark>> = {
  works: { hue: 'green', mark: '●', word: 'works' },
  fails: { hue: 'red', mark: '✗', word: 'does not' },
  untried: { hue: 'yellow', mark: '○', word: 'not tried yet' },
  none: { hue: 'gray', mark: '·', word: 'itself, or no pod' },
};

export function reachLines(status: LabStatus, { paint }: DrawOptions, grid: readonly string[]): string[] {
  const bad = status.reachability.outcomes.filter((outcome) => !outcome.worked);
  const more = bad.length - FAILURES_SHOWN;
  return [
    `${paint('bold', 'reachability')}  ${verdict(status, paint)}`,
    ...grid,
    ...bad.slice(0, FAILURES_SHOWN).map(({ from, to, why }) => paint('red', `  ${from} -> ${to}: ${why}`)),
    ...(more > 0 ? [paint('red', `  … and ${more} more`)] : []),
  ];
}

function verdict({ reachability: { outcomes }, pods, nodes, hosts }: LabStatus, paint: Paint): string {
  const running = pods.filter((pod) => pod.phase === 'running').length;
  const ofIpv4 = outcomes.filter(({ family = 4 }) => family === 4).length;
  const untried = pathCount(running, nodes.length + hosts.length) - ofIpv4;
  if (running === 0) return paint('gray', 'no pod runs yet');
  if (outcomes.length === 0) return paint('gray', `trying ${untried} paths …`);
  const worked = outcomes.filter((outcome) => outcome.worked).length;
  const trying = untried > 0 ? paint('gray', `, trying ${untried} more …`) : '';
  const text = `${worked} of ${outcomes.length} paths work`;
  if (worked < outcomes.length) return paint('red', text) + trying;
  return paint('green', `${text}, each seen with the right source`) + trying;
}

/** From the left to the top; none when there are too many places for the terminal's width. */
export function matrix(status: LabStatus, { paint, columns }: DrawOptions): string[] {
  const pods = status.pods.filter((pod) => pod.phase === 'running').map(({ name }) => name);
  const names = [...pods, ...status.nodes.map(({ name }) => name), ...status.hosts.map(({ name }) => name)];
  const wide = Math.max(...names.map((name) => name.length)) + 2;
  if (names.length > MATRIX_MAX || pods.length === 0 || wide + 5 + names.length * 3 > columns) return [];
  const byPair = new Map(status.reachability.outcomes.map((one) => [`${one.from} ${one.to}`, one.worked]));
  const mark = (from: string, to: string) => {
    const worked = byPair.get(`${from} ${to}`);
    const isPath = from !== to && (pods.includes(from) || pods.includes(to));
    const kind = worked === undefined ? (isPath ? 'untried' : 'none') : worked ? 'works' : 'fails';
    return paint(marks[kind].hue, marks[kind].mark);
  };
  const numbers = names.map((_, index) => pad(String(index + 1), 3)).join('');
  const heading = `  ${pad(paint('gray', 'row to column'), wide + 3)}${paint('gray', numbers)}`;
  const legend = matrixLegend(paint);
  const beside = widthOf(heading) + widthOf(legend) + 1 < columns;
  return [
    ...(beside ? [] : [`  ${legend}`]),
    beside ? `${heading} ${legend}` : heading,
    ...names.map((from, row) => {
      const line = names.map((to) => pad(mark(from, to), 3)).join('');
      return `  ${paint('gray', pad(String(row + 1), 3))}${pad(from, wide)}${line}`;
    }),
  ];
}

function matrixLegend(paint: Paint): string {
  return Object.values(marks)
    .map(({ hue, mark, word }) => `${paint(hue, mark)} ${paint('gray', word)}`)
    .join('  ');
}

export function refusedLines({ refused }: LabStatus, paint: Paint): string[] {
  const kinds = REFUSED_KINDS.map((kind) => {
    const text = `${refused[kind]} ${refusedWords[kind]}`;
    if (refused[kind] === 0) return paint('gray', text);
    return paint(kind === 'routingFault' ? 'red' : 'yellow', text);
  });
  return [`${paint('bold', 'packets refused by the router')}  ${kinds.join(' · ')}`];
}
