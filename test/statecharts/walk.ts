/**
 * Walks a chart as a graph: every state that the given events reach, each once. No actor runs; what an invoked one brings back is an
 * event like any other, so every schedule of failures is among the paths.
 *
 * XState's own getAdjacencyMap does the same at twice the price: it names each state again where it is reached and where it is left, and
 * shifts a queue of 100,000 entries.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { createEmptyActor } from 'xstate/actors';
import { statePath } from '../../actors/state-path.ts';

export type Vertex<E = Edge> = {
  readonly key: string;
  readonly state: string;
  readonly snapshot: AnyMachineSnapshot;
  readonly edges: readonly E[];
};
/** `sent`: what goes to the parent and to others, in order. */
export type Edge = {
  readonly event: Message;
  readonly to: string;
  readonly after: AnyMachineSnapshot;
  readonly sent: readonly Message[];
};
export type Message = { readonly type: string; readonly [field: string]: unknown };
export type Graph<E = Edge> = ReadonlyMap<string, Vertex<E>>;
/** The least that is kept of an edge. */
export type Way = Pick<Edge, 'to'>;

export type Walk = {
  readonly machine: AnyStateMachine;
  readonly input: unknown;
  /** Name of an invoked actor -> all that it may bring back or throw. */
  readonly results: (snapshot: AnyMachineSnapshot) => Readonly<Record<string, { done: unknown[]; error: unknown[] }>>;
  /** What others may send in this state. */
  readonly events: (snapshot: AnyMachineSnapshot) => readonly Message[];
  /** What tells states apart besides the chart's own. Counters that grow without end must be cut here. */
  readonly key: (snapshot: AnyMachineSnapshot) => unknown;
  readonly limit?: number;
};

export function walk(through: Walk): Graph {
  return walkKeeping(through, (_, edge) => edge);
}

/** A walk that keeps of each edge what `look` answers: whole ones hold a snapshot each, and there are 15 to a state. */
export function walkKeeping<E extends Way>(
  { machine, input, results, events, key, limit = 200_000 }: Walk,
  look: (from: AnyMachineSnapshot, edge: Edge, key: string) => E,
): Graph<E> {
  const named = (snapshot: AnyMachineSnapshot) => `${statePath(snapshot.value)} ${JSON.stringify(key(snapshot))}`;
  const { initial, step } = steps(machine, input);
  const vertexOf = (id: string, snapshot: AnyMachineSnapshot): Vertex<E> & { readonly edges: E[] } => ({
    key: id,
    state: statePath(snapshot.value),
    snapshot,
    edges: [],
  });
  const first = vertexOf(named(initial), initial);
  const graph = new Map([[first.key, first]]);
  let edges = 0;
  // A Map tells in the order of arrival, those too that come while it tells.
  for (const vertex of graph.values())
    for (const event of eventsIn(vertex.snapshot, results, events)) {
      edges += 1;
      if (edges > limit) throw new Error(`more than ${limit} edges`);
      const { after, sent } = step(vertex.snapshot, event);
      const to = named(after);
      vertex.edges.push(look(vertex.snapshot, { event, to, after, sent }, vertex.key));
      if (!graph.has(to)) graph.set(to, vertexOf(to, after));
    }
  return graph;
}

/** All that may come in this state: its timers, what its actors bring back, and what others send. */
function eventsIn(snapshot: AnyMachineSnapshot, results: Walk['results'], events: Walk['events']): readonly Message[] {
  if (snapshot.status !== 'active') return [];
  const table = results(snapshot);
  const inner = snapshot._nodes.flatMap((node) => [
    ...node.after.map((timer) => ({ type: String(timer.eventType) })),
    ...node.invoke.flatMap(({ id, src }) => {
      const result = table[String(src)] ?? { done: [], error: [] };
      return [
        ...result.done.map((output) => ({ type: `xstate.done.actor.${id}`, actorId: id, output })),
        ...result.error.map((error) => ({ type: `xstate.error.actor.${id}`, actorId: id, error })),
      ];
    }),
  ]);
  return [...inner, ...events(snapshot)];
}

/** The chart's pure transition with a parent to send to, and what each step sent. */
function steps(machine: AnyStateMachine, input: unknown) {
  const parent = createEmptyActor();
  const empty = createEmptyActor();
  const self = Object.assign(Object.create(empty), { _parent: parent });
  const scope = (sent: Message[]) =>
    ({
      self,
      system: empty.system,
      logger: () => {},
      id: '',
      sessionId: '',
      defer: () => {},
      stopChild: () => {},
      emit: () => {},
      actionExecutor: ({ type, params }: { type: string; params?: { event?: Message } }) => {
        if (/^xstate\.(sendTo|emit)$/.test(type) && params?.event !== undefined) sent.push(params.event);
      },
    }) as never;
  return {
    initial: machine.getInitialSnapshot(scope([]), input) as AnyMachineSnapshot,
    step: (snapshot: AnyMachineSnapshot, event: Message) => {
      const sent: Message[] = [];
      return { after: machine.transition(snapshot, event, scope(sent)) as AnyMachineSnapshot, sent };
    },
  };
}

/** The vertices from which none that is `good` can be reached. */
export function trapped<E extends Way>(graph: Graph<E>, good: (vertex: Vertex<E>) => boolean): readonly string[] {
  const backwards = new Map<string, string[]>();
  for (const vertex of graph.values())
    for (const { to } of vertex.edges) {
      const known = backwards.get(to);
      if (known === undefined) backwards.set(to, [vertex.key]);
      else if (known.at(-1) !== vertex.key) known.push(vertex.key);
    }
  const reached = new Set([...graph.values()].filter(good).map((vertex) => vertex.key));
  const open = [...reached];
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    for (const from of backwards.get(key) ?? []) {
      if (reached.has(from)) continue;
      reached.add(from);
      open.push(from);
    }
  }
  return [...graph.keys()].filter((key) => !reached.has(key));
}

export const at = <T>(value: T) => ({ atMs: 0, value });
