/**
 * Walks a chart as a graph: every state that the given events reach, each once. No actor runs; what an invoked one brings back is an
 * event like any other, so every schedule of failures is among the paths.
 */
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { createEmptyActor } from 'xstate/actors';
import { getAdjacencyMap } from 'xstate/graph';
import { statePath } from '../../actors/state-path.ts';

export type Vertex = {
  readonly key: string;
  readonly state: string;
  readonly snapshot: AnyMachineSnapshot;
  readonly edges: readonly Edge[];
};
/** `sent`: what goes to the parent and to others, in order. */
export type Edge = {
  readonly event: Message;
  readonly to: string;
  readonly after: AnyMachineSnapshot;
  readonly sent: readonly Message[];
};
export type Message = { readonly type: string; readonly [field: string]: unknown };
export type Graph = ReadonlyMap<string, Vertex>;

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

export function walk({ machine, input, results, events, key, limit = 200_000 }: Walk): Graph {
  const named = (snapshot: AnyMachineSnapshot) => `${statePath(snapshot.value)} ${JSON.stringify(key(snapshot))}`;
  const { logic, sentIn } = spied(machine);
  const map = getAdjacencyMap(
    logic as never,
    {
      input,
      limit,
      serializeState: (snapshot: AnyMachineSnapshot) => named(snapshot),
      serializeEvent: (event: Message) => JSON.stringify(event),
      events: (snapshot: AnyMachineSnapshot) => {
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
      },
    } as never,
  ) as unknown as Record<
    string,
    { state: AnyMachineSnapshot; transitions: Record<string, { event: Message; state: AnyMachineSnapshot }> }
  >;
  return new Map(
    Object.entries(map).map(([id, { state, transitions }]) => [
      id,
      {
        key: id,
        state: statePath(state.value),
        snapshot: state,
        edges: Object.values(transitions).map((edge) => ({
          event: edge.event,
          to: named(edge.state),
          after: edge.state,
          sent: sentIn(state, edge.event),
        })),
      },
    ]),
  );
}

/** The chart with a parent to send to, and a record of what each step sent. */
function spied(machine: AnyStateMachine) {
  const steps = new WeakMap<object, Map<Message, Message[]>>();
  const parent = createEmptyActor();
  const listening = (scope: { self: object }, sent: Message[]) => ({
    ...scope,
    self: Object.assign(Object.create(scope.self), { _parent: parent }),
    actionExecutor: ({ type, params }: { type: string; params?: { event?: Message } }) => {
      if (/^xstate\.(sendTo|emit)$/.test(type) && params?.event !== undefined) sent.push(params.event);
    },
  });
  const logic = {
    getInitialSnapshot: (scope: { self: object }, given: unknown) =>
      machine.getInitialSnapshot(listening(scope, []) as never, given),
    transition: (snapshot: AnyMachineSnapshot, event: Message, scope: { self: object }) => {
      const sent: Message[] = [];
      const known = steps.get(snapshot) ?? new Map<Message, Message[]>();
      steps.set(snapshot, known.set(event, sent));
      return machine.transition(snapshot, event, listening(scope, sent) as never);
    },
  };
  const sentIn = (snapshot: AnyMachineSnapshot, event: Message) => steps.get(snapshot)?.get(event) ?? [];
  return { logic, sentIn };
}

/** The vertices from which none that is `good` can be reached. */
export function trapped(graph: Graph, good: (vertex: Vertex) => boolean): readonly string[] {
  const backwards = new Map<string, string[]>();
  for (const vertex of graph.values())
    for (const { to } of vertex.edges) backwards.set(to, [...(backwards.get(to) ?? []), vertex.key]);
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
