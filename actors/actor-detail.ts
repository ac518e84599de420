/** One actor in full, as far as people may see it. */
import type { AnyActorRef } from 'xstate';
import { bounded } from '../src/core/bounded.ts';
import type { ActorDetail } from '../src/ports/introspection.ts';
import { chartOf, type ObservedSnapshot, pathOf } from './observer.ts';
import type { SinceOf } from './since.ts';
import { statePath } from './state-path.ts';

type Snapshot = ObservedSnapshot & {
  readonly tags?: ReadonlySet<string>;
  readonly _nodes?: readonly { readonly ownEvents: readonly string[] }[];
  readonly error?: unknown;
};

/** null when there is none at this path. */
export function actorDetail(root: AnyActorRef, path: string, since: SinceOf): ActorDetail | null {
  const actor = actorAt(root, path);
  if (actor === null) return null;
  const snapshot = actor.getSnapshot() as Snapshot;
  const { value, context, status, tags, children = {}, error } = snapshot;
  return {
    path: pathOf(actor),
    chart: chartOf(actor),
    status,
    state: value === undefined ? null : statePath(value),
    sinceMs: since(actor).atMs,
    tags: [...(tags ?? [])],
    accepts: acceptedBy(snapshot),
    children: Object.values(children).map(pathOf),
    ...(context === undefined ? {} : { context: bounded(context) }),
    ...(error === undefined ? {} : { error: bounded(error) }),
  };
}

/** Ids may hold the sign that paths are joined by: `lease:c1/eth0`. */
function actorAt(actor: AnyActorRef, path: string, own = 'node'): AnyActorRef | null {
  if (path === own) return actor;
  if (!path.startsWith(`${own}/`)) return null;
  const rest = path.slice(own.length + 1);
  for (const [id, child] of Object.entries((actor.getSnapshot() as Snapshot).children ?? {})) {
    const found = actorAt(child, rest, id);
    if (found !== null) return found;
  }
  return null;
}

/** Events that some state of it has a transition for just now. */
function acceptedBy({ _nodes = [] }: Snapshot): string[] {
  return [...new Set(_nodes.flatMap((node) => node.ownEvents))].sort();
}
