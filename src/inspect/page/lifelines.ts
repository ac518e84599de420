/** Who stands where in the diagram of messages, and what is a row of it. Pure. */
import type { Inspected } from '../../ports/inspected.ts';
import { compareNames, eventName, isDull, nameOf } from './words.ts';

export type Row = {
  readonly seq: number;
  readonly atMs: number;
  readonly from: string;
  readonly to: string;
  readonly label: string;
  /** A message between two; something that an actor's own timer or call brought; or what it has become. */
  readonly kind: 'message' | 'own' | 'state';
  readonly seen: Inspected;
  /** The actor it happened to, and the one it came from when that is another. */
  readonly actor: string;
  readonly sender: string | null;
  /** Of a state: the one before, as far as it was seen. */
  readonly was: string | null;
};

export const OUTSIDE = 'outside';
/** Leases that have a line each; when more of them are seen all share one. */
const OWN_LINES_MAX = 2;

const ORDER = [
  'outside',
  'node',
  'leases',
  'lease',
  'eniFactory',
  'eni',
  'idlePool',
  'garbageCollector',
  'kernelKeeper',
  'cloudKeeper',
];

/** Turns what was seen into rows; `states` carries what each actor was, from one call to the next. */
export function rowsOf(all: readonly Inspected[], states: Map<string, string | null>): readonly Row[] {
  return all.flatMap((seen): Row[] => {
    if (seen.kind === 'actor' || isDull(seen)) {
      if (seen.kind === 'actor') states.set(seen.actor, seen.state);
      return [];
    }
    const { seq, atMs, actor } = seen;
    if (seen.kind === 'state') {
      const before = states.get(actor);
      states.set(actor, seen.state);
      if (before === seen.state || seen.state === null) return [];
      return [
        {
          seq,
          atMs,
          from: actor,
          to: actor,
          label: seen.state,
          kind: 'state',
          seen,
          actor,
          sender: null,
          was: before ?? null,
        },
      ];
    }
    const own = seen.from === actor || isOwn(seen.event.type) || isCallOf(actor, seen.from);
    const from = own ? actor : (seen.from ?? OUTSIDE);
    const kind = own ? 'own' : 'message';
    return [
      {
        seq,
        atMs,
        from,
        to: actor,
        label: eventName(seen.event.type),
        kind,
        seen,
        actor,
        sender: own ? null : seen.from,
        was: null,
      },
    ];
  });
}

/** What a chart has invoked is no actor to those who look: its call, its watch. */
const isCallOf = (actor: string, from: string | null): boolean =>
  from?.startsWith(`${actor}/`) === true && !ORDER.includes(kindOf(from));

const isOwn = (type: string): boolean => /^xstate\.(after|done|error)\./.test(type);

/** The lines that these rows need, from left to right, and which line each actor is on. */
export function lifelinesOf(rows: readonly Row[]): { readonly lines: readonly string[]; lineOf(path: string): string } {
  const paths = new Set(rows.flatMap(({ from, to }) => [from, to]));
  const leases = [...paths].filter((path) => kindOf(path) === 'lease');
  const shared = leases.length > OWN_LINES_MAX;
  const lineOf = (path: string): string =>
    shared && kindOf(path) === 'lease' ? 'lease:*' : path === OUTSIDE ? path : nameOf(path);
  const placed = new Map([...paths].map((path) => [lineOf(path), path]));
  const lines = [...placed]
    .sort(([one, a], [other, b]) => rank(a) - rank(b) || compareNames(one, other))
    .map(([line]) => line);
  return { lines, lineOf };
}

function kindOf(path: string): string {
  const name = nameOf(path);
  return name.startsWith('lease:') ? 'lease' : name.startsWith('eni:') ? 'eni' : name;
}

function rank(path: string): number {
  const index = ORDER.indexOf(path === OUTSIDE ? OUTSIDE : kindOf(path));
  return index < 0 ? ORDER.length : index;
}
