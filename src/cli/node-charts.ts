/** Charts as text: each state with what leads out of it. */
import type { Paint } from '../lab/view/paint.ts';
import type { ChartData, ChartState, ChartTransition } from '../ports/chart-data.ts';
import { table } from './table.ts';

export function chartTable(charts: readonly ChartData[], paint: Paint): string[] {
  const rows = charts.map((chart) => {
    const states = allStates(chart);
    const transitions = states.reduce((sum, state) => sum + state.transitions.length, 0);
    const top = chart.states.map(({ path }) => path).join(' ');
    return [chart.id, String(states.length - 1), String(transitions), top || '-'];
  });
  return table(['CHART', 'STATES', 'TRANSITIONS', 'LIFE'], rows, paint);
}

function allStates(state: ChartState): ChartState[] {
  return [state, ...state.states.flatMap(allStates)];
}

export function chartLines(chart: ChartData, paint: Paint): string[] {
  return [paint('bold', chart.id), ...stateLines(chart, '', paint)];
}

function stateLines(state: ChartState, indent: string, paint: Paint): string[] {
  const { path, type, initial, tags, entry, exit, invokes, transitions, states } = state;
  const name = path.split('.').at(-1) ?? '';
  const marks = [type === 'atomic' || type === 'compound' ? '' : type, ...tags.map((tag) => `#${tag}`)].filter(Boolean);
  const title =
    path === '' ? [] : [`${indent}${paint('cyan', name)}${marks.length === 0 ? '' : ` (${marks.join(' ')})`}`];
  const inner = path === '' ? indent : `${indent}  `;
  const facts = [
    ...(initial === null ? [] : [`begins in ${initial.split('.').at(-1)}`]),
    ...invokes.map(({ src }) => `calls ${src}`),
    ...(entry.length === 0 ? [] : [`entering: ${entry.join(', ')}`]),
    ...(exit.length === 0 ? [] : [`leaving: ${exit.join(', ')}`]),
    ...transitions.map((transition) => transitionText(transition, path)),
  ];
  return [
    ...title,
    ...facts.map((fact) => `${inner}  ${paint('gray', fact)}`),
    ...states.flatMap((one) => stateLines(one, inner, paint)),
  ];
}

function transitionText({ on, guard, targets, actions }: ChartTransition, from: string): string {
  const where = targets.length === 0 ? '' : ` → ${targets.map((target) => nearName(target, from)).join(', ')}`;
  const doing = actions.length === 0 ? '' : ` / ${actions.join(', ')}`;
  return `${on}${guard === null ? '' : ` [${guard}]`}${where}${doing}`;
}

/** A sibling by its own name, others by their path. */
function nearName(target: string, from: string): string {
  const home = from.includes('.') ? `${from.slice(0, from.lastIndexOf('.'))}.` : '';
  return target.startsWith(home) && !target.slice(home.length).includes('.')
    ? target.slice(home.length)
    : target || 'itself';
}
