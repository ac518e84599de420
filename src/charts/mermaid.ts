/**
 * A chart as a Mermaid state diagram, which GitHub and many editors draw. What changes no state is left out, and so are actions: a drawing with
 * all of it tells less.
 * Source: mermaid.js.org, stateDiagram-v2.
 */
import type { ChartData, ChartState, ChartTransition } from '../ports/chart-data.ts';

export function mermaidOf(chart: ChartData): string {
  const all = transitionsIn(chart);
  return [
    'stateDiagram-v2',
    // What the chart does wherever it is.
    ...(all.some(({ from }) => from === '') ? ['  state "any state" as root'] : []),
    ...inner(chart, '  '),
    ...all.map(({ from, to, label }) => `  ${idOf(from)} --> ${idOf(to)}${label === '' ? '' : `: ${label}`}`),
    '',
  ].join('\n');
}

function inner(state: ChartState, indent: string): string[] {
  const begins = state.initial === null ? [] : [`${indent}[*] --> ${idOf(state.initial)}`];
  return [
    ...begins,
    ...state.states.flatMap((one) => {
      const name = one.path.split('.').at(-1) ?? '';
      const own = `${indent}state "${name}" as ${idOf(one.path)}`;
      const end = one.type === 'final' ? [`${indent}${idOf(one.path)} --> [*]`] : [];
      return one.states.length === 0 ? [own, ...end] : [`${own} {`, ...inner(one, `${indent}  `), `${indent}}`, ...end];
    }),
  ];
}

type Arrow = { readonly from: string; readonly to: string; readonly label: string };

/** Of several between the same two states, one arrow with all their labels. */
function transitionsIn(chart: ChartData): readonly Arrow[] {
  const labels = new Map<string, { from: string; to: string; all: string[] }>();
  const visit = (state: ChartState): void => {
    for (const transition of state.transitions)
      for (const to of transition.targets) {
        const key = `${state.path} ${to}`;
        const arrow = labels.get(key) ?? { from: state.path, to, all: [] };
        labels.set(key, arrow);
        const label = labelOf(transition);
        if (!arrow.all.includes(label)) arrow.all.push(label);
      }
    for (const below of state.states) visit(below);
  };
  visit(chart);
  return [...labels.values()].map(({ from, to, all }) => ({ from, to, label: all.filter(Boolean).join(' / ') }));
}

function labelOf({ on, guard }: ChartTransition): string {
  const event = on === 'always' ? '' : on;
  const named = guard === null || guard === 'inline' ? '' : `[${guard}]`;
  return [event, named].filter(Boolean).join(' ');
}

/** Mermaid's names hold no dots; the root has none of its own. */
function idOf(path: string): string {
  return path === '' ? 'root' : path.replaceAll('.', '_');
}
