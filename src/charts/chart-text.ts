/** What a chart says in words: the lines in a state's box and those beside an arrow. */
import type { ChartState, ChartTransition } from '../ports/chart-data.ts';
import type { TextLine } from './placed-chart.ts';

export type Words = Omit<TextLine, 'at'>;

/** Characters of a line; what is longer goes on in the next. */
const WRAP_CHARS = 34;

export function stateWords(state: ChartState, name: string): readonly Words[] {
  const { tags, invokes, type } = state;
  const { entry, exit } = withoutTimers(state);
  const marks = [...(type === 'parallel' || type === 'history' ? [type] : []), ...tags.map((tag) => `#${tag}`)];
  return [
    { kind: 'name', text: name },
    ...(marks.length === 0 ? [] : [{ kind: 'tags', text: marks.join(' ') } as const]),
    ...invokes.map(({ src }) => ({ kind: 'invoke', text: `▸ ${src}` }) as const),
    ...(entry.length === 0 ? [] : wrapped('entry', `entry / ${entry.join(', ')}`)),
    ...(exit.length === 0 ? [] : wrapped('exit', `exit / ${exit.join(', ')}`)),
    ...state.transitions.filter(({ targets }) => targets.length === 0).flatMap(stayingWords),
  ];
}

/** Of all transitions between the same two states, each with its event and guard, and below that what it does. What reads the same is told once. */
export function arrowsWords(transitions: readonly ChartTransition[]): readonly Words[] {
  const each = transitions.map(arrowWords);
  const seen = new Set<string>();
  return each.flatMap((words) => {
    const text = words.map((line) => line.text).join('\n');
    if (seen.has(text)) return [];
    seen.add(text);
    return words;
  });
}

function arrowWords(transition: ChartTransition): readonly Words[] {
  const { actions } = transition;
  return [
    { kind: 'event', text: [transition.on, guardOf(transition)].filter(Boolean).join(' ') },
    ...(actions.length === 0 ? [] : wrapped('actions', `/ ${actions.join(', ')}`)),
  ];
}

function stayingWords(transition: ChartTransition): readonly Words[] {
  const { on, actions } = transition;
  const doing = actions.length === 0 ? '' : ` / ${actions.join(', ')}`;
  return wrapped('stays', `${[on, guardOf(transition)].filter(Boolean).join(' ')}${doing}`);
}

/** A guard that has no name is told of all the same. */
function guardOf({ guard }: ChartTransition): string {
  if (guard === null) return '';
  return guard === 'inline' ? '[…]' : `[${guard}]`;
}

/** XState arms and disarms an `after` by actions of the state's own, which its reader sees as the arrow. */
export function withoutTimers({ entry, exit, transitions }: ChartState): Pick<ChartState, 'entry' | 'exit'> {
  const timers = new Set(
    transitions.filter(({ event }) => event.startsWith('xstate.after.')).map(({ event }) => event),
  );
  const without = (actions: readonly string[], name: string) => {
    let left = timers.size;
    return actions.filter((action) => action !== name || left-- <= 0);
  };
  return { entry: without(entry, 'raise'), exit: without(exit, 'cancel') };
}

function wrapped(kind: Words['kind'], text: string): readonly Words[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < WRAP_CHARS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(lines.length === 0 ? word : `  ${word}`);
  }
  return lines.map((line) => ({ kind, text: line }));
}
