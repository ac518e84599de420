/** Actors as people read them. */
import type { Paint } from '../lab/view/paint.ts';
import { forHowLong } from '../lab/view/words.ts';
import type { ActorDetail, ActorReport } from '../ports/introspection.ts';
import { yamlOf } from './print.ts';
import { table } from './table.ts';

const ALARMING = /failed|stuck|blocked|backingOff|lost|degraded/;

export function actorTree(actors: readonly ActorReport[], nowMs: number, paint: Paint): string[] {
  const named = inOrder(actors, null, 0);
  const rows = named.map(({ name, actor: { chart, state, sinceMs } }) => [
    shortName(name),
    ALARMING.test(state) ? paint('yellow', state) : state || '-',
    sinceMs === 0 ? '-' : forHowLong(nowMs - sinceMs),
    chart ?? '-',
  ]);
  return table(['ACTOR', 'STATE', 'SINCE', 'CHART'], rows, paint);
}

/** Of a lease's container id what people read of one. */
export function shortName(name: string): string {
  return name.replace(/(lease:[0-9a-f]{12})[0-9a-f]+/, '$1');
}

type Placed = { readonly name: string; readonly actor: ActorReport };

/** Each below its parent. Ids may hold slashes, so the parent is the longest path that one begins with. */
function inOrder(actors: readonly ActorReport[], parent: string | null, depth: number): Placed[] {
  return actors
    .filter(({ path }) => parentOf(path, actors) === parent)
    .flatMap((actor) => {
      const name = parent === null ? actor.path : actor.path.slice(parent.length + 1);
      return [{ name: `${'  '.repeat(depth)}${name}`, actor }, ...inOrder(actors, actor.path, depth + 1)];
    });
}

function parentOf(path: string, actors: readonly ActorReport[]): string | null {
  const above = actors.filter((one) => path.startsWith(`${one.path}/`)).map((one) => one.path);
  return above.reduce<string | null>(
    (longest, one) => (longest === null || one.length > longest.length ? one : longest),
    null,
  );
}

export function actorLines(actor: ActorDetail, nowMs: number, paint: Paint): string[] {
  const { path, chart, state, status, sinceMs, tags, accepts, children, context, error } = actor;
  const since = sinceMs === 0 ? '' : ` since ${forHowLong(nowMs - sinceMs)}`;
  return [
    `${paint('bold', path)}  ${chart === null ? '' : `chart ${chart}`}`.trimEnd(),
    `state     ${state ?? status}${since}${tags.length === 0 ? '' : ` (${tags.join(', ')})`}`,
    ...(accepts.length === 0 ? [] : [`accepts   ${accepts.join(', ')}`]),
    ...(children.length === 0 ? [] : [`children  ${children.map((child) => child.slice(path.length + 1)).join(', ')}`]),
    ...(error === undefined ? [] : [paint('red', `error     ${String(error)}`)]),
    ...(context === undefined
      ? []
      : [
          'context',
          ...yamlOf(context)
            .trimEnd()
            .split('\n')
            .map((line) => `  ${line}`),
        ]),
  ];
}
