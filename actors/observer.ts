/**
 * Lets others watch the actors. XState takes one inspector, when the root is made; ours hands on to whoever watches just now, so that
 * without watchers an event costs one comparison.
 *
 * A watcher that throws is watched no more: nothing that only looks may disturb the node.
 */
import type { AnyActorRef, InspectionEvent } from 'xstate';
import { bounded } from '../src/core/bounded.ts';
import type { Inspected, WatchListener, WatchOptions } from '../src/ports/inspected.ts';
import { statePath } from './state-path.ts';

type Listener = WatchListener;
type Watcher = { readonly listener: Listener; readonly options: WatchOptions; seq: number };
/** What is told, before it is numbered for each watcher. */
export type News = {
  readonly [K in Inspected['kind']]: Omit<Extract<Inspected, { kind: K }>, 'seq' | 'atMs'>;
}[Inspected['kind']];

export type ObservedSnapshot = {
  readonly status: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly children?: Record<string, AnyActorRef>;
};

export class Observer {
  readonly #nowMs: () => number;
  readonly #watchers = new Set<Watcher>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Tells of all actors below `root` first. What it returns ends the watching, and may be called again. */
  watch(root: AnyActorRef, listener: Listener, options: WatchOptions): () => void {
    const watcher: Watcher = { listener, options, seq: 0 };
    this.#watchers.add(watcher);
    for (const actor of everyActor(root)) {
      const news = actorNews(actor);
      this.#tell(watcher, told(options.context ? { ...news, ...contextOf(actor.getSnapshot()) } : news));
    }
    return () => this.#watchers.delete(watcher);
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  heard(event: InspectionEvent): void {
    if (this.#watchers.size === 0) return;
    const news = newsOf(event);
    if (news === null) return;
    // Whoever watches in the same way is told the same, which is made and put into words once.
    let [plain, full]: [Told | null, Told | null] = [null, null];
    for (const watcher of this.#watchers) {
      if (watcher.options.context) full ??= told({ ...news, ...contextOf(snapshotIn(event)) });
      else plain ??= told(news);
      const mine = watcher.options.context ? full : plain;
      if (mine !== null) this.#tell(watcher, mine);
    }
  }

  #tell(watcher: Watcher, { news, rest }: Told): void {
    watcher.seq += 1;
    const { seq } = watcher;
    const atMs = this.#nowMs();
    try {
      watcher.listener({ seq, atMs, ...news } as Inspected, () => `{"seq":${seq},"atMs":${atMs},${rest()}`);
    } catch {
      this.#watchers.delete(watcher);
    }
  }
}

/** News, and what follows the number and the time in its JSON. */
type Told = { readonly news: News; readonly rest: () => string };

function told(news: News): Told {
  let text: string | null = null;
  const rest = (): string => {
    text ??= JSON.stringify(news).slice(1);
    return text;
  };
  return { news, rest };
}

/** Each line that is told names one or two, and an actor stays where it is. */
const paths = new WeakMap<AnyActorRef, string>();

/** `node/eniFactory/eni:0` */
export function pathOf(actor: AnyActorRef): string {
  const known = paths.get(actor);
  if (known !== undefined) return known;
  const { _parent: parent } = actor;
  const path = parent === undefined ? 'node' : `${pathOf(parent)}/${actor.id}`;
  paths.set(actor, path);
  return path;
}

/** The id of an actor's chart; null when it has none. */
export function chartOf(actor: AnyActorRef): string | null {
  // Not in XState's type of a reference.
  const { logic } = actor as unknown as { logic?: { id?: unknown } };
  return typeof logic?.id === 'string' ? logic.id : null;
}

function* everyActor(actor: AnyActorRef): Generator<AnyActorRef> {
  yield actor;
  for (const child of Object.values((actor.getSnapshot() as ObservedSnapshot).children ?? {})) yield* everyActor(child);
}

/** null for what nobody is told of. */
export function newsOf(event: InspectionEvent): News | null {
  const actor = event.actorRef as AnyActorRef;
  if (event.type === '@xstate.actor') return actorNews(actor);
  if (event.type === '@xstate.event') {
    const { sourceRef, event: what } = event;
    const from = sourceRef === undefined ? null : pathOf(sourceRef as AnyActorRef);
    return { kind: 'event', actor: pathOf(actor), from, event: bounded(what) as { type: string } };
  }
  if (event.type !== '@xstate.snapshot') return null;
  const { value, status } = event.snapshot as ObservedSnapshot;
  const state = value === undefined ? null : statePath(value);
  return { kind: 'state', actor: pathOf(actor), state, status, by: event.event.type };
}

function actorNews(actor: AnyActorRef): News {
  // An actor is told of while it is being made: it may not know its own state yet.
  const { value } = (actor.getSnapshot() ?? {}) as Partial<ObservedSnapshot>;
  const state = value === undefined ? null : statePath(value);
  return { kind: 'actor', actor: pathOf(actor), chart: chartOf(actor), state };
}

/** What an actor has become, or is when it is told of. */
function snapshotIn(event: InspectionEvent): unknown {
  if (event.type === '@xstate.snapshot') return event.snapshot;
  return event.type === '@xstate.actor' ? (event.actorRef as AnyActorRef).getSnapshot() : undefined;
}

function contextOf(snapshot: unknown): { context?: unknown } {
  const { context } = (snapshot ?? {}) as Partial<ObservedSnapshot>;
  return context === undefined ? {} : { context: bounded(context) };
}
