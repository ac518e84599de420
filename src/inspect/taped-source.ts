/** What is over: a support bundle, or a simulated run. There is no now, only the past. */
import type { ChartData } from '../ports/chart-data.ts';
import type { Source } from './source.ts';
import type { Tape } from './tape.ts';
import type { SourceKind } from './told.ts';

export type NamedTape = { readonly name: string; readonly tape: Tape };

export function tapedSource(
  what: SourceKind,
  title: string,
  tapes: readonly NamedTape[],
  charts: readonly ChartData[],
): Source {
  const source = { what, title, tapes: tapes.map(({ name }) => name) };
  const tapeAt = (index: number): Tape | undefined => tapes[index]?.tape;
  return {
    told: source,
    watch: (tell) => {
      tell({ kind: 'source', source });
      return () => {};
    },
    actor: async () => null,
    why: async () => null,
    charts: async () => charts,
    past: async (tape) => {
      const found = tapeAt(tape);
      return found === undefined ? { why: 'there is no such life', marks: [] } : { why: null, marks: found.marks };
    },
    momentOf: async (tape, index) => tapeAt(tape)?.at(index) ?? null,
    actorAt: async (tape, index, path) => tapeAt(tape)?.actor(path, index) ?? null,
  };
}
