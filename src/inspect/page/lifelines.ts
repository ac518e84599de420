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

/** Who shares a line where there is no room for one each, in this order. */
const SHARED: readonly (readonly [line: string, kinds: readonly string[]])[] = [
  ['lease:*', ['lease']],
  ['eni:*', ['eni']],
  ['keepers', ['garbageCollector', 'kernelKeeper', 'cloudKeeper']],
  ['keepers', ['garbageCollector', 'kernelKeeper', 'cloudKeeper', 'idlePool']],
];

export type Lifelines = {
  readonly lines: readonly string[];
  lineOf(path: string): string;
  /** Of one who has a line alone. */
  pathOf(line: string): string | null;
};

/** The lines that these rows need, from left to right, and which line each actor is on; `most`: for how many there is room. */
export function lifelinesOf(rows: readonly Row[], most: number): Lifelines {
  const paths = [...new Set(rows.flatMap(({ from, to }) => [from, to]))];
  const leases = paths.filter((path) => kindOf(path) === 'lease');
  for (let shared = leases.length > OWN_LINES_MAX ? 1 : 0; ; shared += 1) {
    const together = new Map(SHARED.slice(0, shared).flatMap(([line, kinds]) => kinds.map((kind) => [kind, line])));
    const lineOf = (path: string): string => (path === OUTSIDE ? path : (together.get(kindOf(path)) ?? nameOf(path)));
    const placed = new Map<string, string[]>();
    for (const path of paths) placed.set(lineOf(path), [...(placed.get(lineOf(path)) ?? []), path]);
    if (placed.size > most && shared < SHARED.length) continue;
    const lines = [...placed]
      .sort(([one, [a = '']], [other, [b = '']]) => rank(a) - rank(b) || compareNames(one, other))
      .map(([line]) => line);
    const alone = (line: string): string | null => {
      const [path, ...others] = placed.get(line) ?? [];
      return others.length === 0 ? (path ?? null) : null;
    };
    return { lines, lineOf, pathOf: alone };
  }
}

function kindOf(path: string): string {
  const name = nameOf(path);
  return name.startsWith('lease:') ? 'lease' : name.startsWith('eni:') ? 'eni' : name;
}

function rank(path: string): number {
  const index = ORDER.indexOf(path === OUTSIDE ? OUTSIDE : kindOf(path));
  return index < 0 ? ORDER.length : index;
}
