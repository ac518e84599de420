/**
 * What a node tells of its actors, in the form that `@statelyai/inspect` sends and its receivers and the hosted inspector read.
 *
 * Actors are told apart by their path; one that is made where another was before is another one (`…~2`).
 * Source: @statelyai/inspect 0.7.2, convertXStateEvent in src/createInspector.ts.
 */
import { machineConfigOf } from '../charts/machine-config.ts';
import type { ChartData } from '../ports/chart-data.ts';
import type { Inspected } from '../ports/inspected.ts';

/** Of the form, which its readers ask for. */
const VERSION = '0.7.2';
const ROOT = 'node';

type Base = {
  readonly sessionId: string;
  readonly rootId: string;
  /** Milliseconds since 1970, as text. */
  readonly createdAt: string;
  readonly id: null;
  readonly _version: string;
};
type Event = { readonly type: string; readonly [field: string]: unknown };
type Snapshot = { readonly status: string; readonly value?: unknown; readonly context?: unknown };

export type StatelyEvent =
  | (Base & {
      readonly type: '@xstate.actor';
      readonly name: string;
      readonly parentId?: string;
      /** The chart as `createMachine` takes it, in JSON. */
      readonly definition: string;
      readonly snapshot: Snapshot;
    })
  | (Base & { readonly type: '@xstate.event'; readonly event: Event; readonly sourceId?: string })
  | (Base & { readonly type: '@xstate.snapshot'; readonly event: Event; readonly snapshot: Snapshot });

/** Of one stream of the node, from its beginning: it knows which actors there were. */
export class StatelyWire {
  readonly #definitions: ReadonlyMap<string, string>;
  /** How many there were at a path so far. */
  readonly #lives = new Map<string, number>();
  /** What each actor was told last, by the event's type: states name only that. */
  readonly #lastTold = new Map<string, Map<string, Event>>();

  constructor(charts: readonly ChartData[]) {
    this.#definitions = new Map(charts.map((chart) => [chart.id, JSON.stringify(machineConfigOf(chart))]));
  }

  read(told: Inspected): StatelyEvent {
    if (told.kind === 'actor') return this.#actor(told);
    const base = this.#base(told);
    if (told.kind === 'event') {
      const lastTold = this.#lastTold.get(told.actor) ?? new Map<string, Event>();
      this.#lastTold.set(told.actor, lastTold.set(told.event.type, told.event));
      const source = told.from === null ? {} : { sourceId: this.#sessionOf(told.from) };
      return { type: '@xstate.event', ...base, event: told.event, ...source };
    }
    const event = this.#lastTold.get(told.actor)?.get(told.by) ?? { type: told.by };
    if (told.status !== 'active') this.#lastTold.delete(told.actor);
    return { type: '@xstate.snapshot', ...base, event, snapshot: snapshotOf(told, told.status) };
  }

  #actor(told: Extract<Inspected, { kind: 'actor' }>): StatelyEvent {
    const { actor, chart } = told;
    this.#lives.set(actor, (this.#lives.get(actor) ?? 0) + 1);
    this.#lastTold.delete(actor);
    const above = this.#parentOf(actor);
    const name = above === null ? actor : actor.slice(above.length + 1);
    const parent = above === null ? {} : { parentId: this.#sessionOf(above) };
    const definition = this.#definitions.get(chart ?? '') ?? JSON.stringify({ id: name });
    const snapshot = snapshotOf(told, 'active');
    return { type: '@xstate.actor', name, ...this.#base(told), ...parent, definition, snapshot };
  }

  #base({ actor, atMs }: Inspected): Base {
    return {
      sessionId: this.#sessionOf(actor),
      rootId: ROOT,
      createdAt: String(atMs),
      id: null,
      _version: VERSION,
    };
  }

  #sessionOf(actor: string): string {
    const life = this.#lives.get(actor) ?? 1;
    return life === 1 ? actor : `${actor}~${life}`;
  }

  /** Names hold the sign that paths are joined by themselves: `lease:<container>/<interface>`. */
  #parentOf(path: string): string | null {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
      if (this.#lives.has(path.slice(0, end))) return path.slice(0, end);
    return null;
  }
}

function snapshotOf({ state, context }: { state: string | null; context?: unknown }, status: string): Snapshot {
  return {
    status,
    ...(state === null ? {} : { value: stateValue(state) }),
    ...(context === undefined ? {} : { context }),
  };
}

/** `inUse.assigning` is `{ inUse: 'assigning' }` to XState; a chart without states is `{}`; regions are joined by `+` at the top alone. */
function stateValue(path: string): unknown {
  if (path === '') return {};
  const regions = path.split('+').map((region) => region.split('.').reduceRight<unknown>(nested, undefined));
  return regions.length === 1 ? regions[0] : Object.assign({}, ...regions);
}

const nested = (inner: unknown, name: string): unknown => (inner === undefined ? name : { [name]: inner });
