/** One value, as a table for people or as data for programs. */
import { dump } from 'js-yaml';
import { type Paint, paintFor } from '../lab/view/paint.ts';
import { visible } from '../lab/view/visible.ts';
import type { OutputForm } from './command.ts';

/** `lines` draws it for people and is asked only then. */
export function print(value: unknown, form: OutputForm, lines: (paint: Paint) => readonly string[]): void {
  if (form === 'text') {
    const drawn = lines(paintFor(process.stdout));
    if (drawn.length > 0) process.stdout.write(`${drawn.map(visible).join('\n')}\n`);
  } else if (form === 'json') process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  else process.stdout.write(yamlOf(value));
}

/** Of what JSON can hold: what is `undefined` is left out, as there. Lines are never folded, so that `grep` finds whole values. */
export function yamlOf(value: unknown): string {
  return dump(JSON.parse(JSON.stringify(value)), { lineWidth: -1, noRefs: true });
}
