/** What the inspector's page looks at: a node that runs, one that did, or none. */
import type { ChartData } from '../ports/chart-data.ts';
import type { ActorDetail, Why } from '../ports/introspection.ts';
import type { Moment, PastTold, SourceTold, Told } from './told.ts';

export interface Source {
  readonly told: SourceTold;
  /** Tells what there is, and from then on what happens; what it returns ends that. */
  watch(tell: (told: Told) => void): () => void;
  /** As it is now; null when there is none, or when there is no now. */
  actor(path: string): Promise<ActorDetail | null>;
  /** null for what is no more. */
  why(pod: string): Promise<Why | null>;
  charts(): Promise<readonly ChartData[]>;
  /** Of a tape by its number. */
  past(tape: number): Promise<PastTold>;
  /** null where there is no past. */
  momentOf(tape: number, index: number): Promise<Moment | null>;
  actorAt(tape: number, index: number, path: string): Promise<ActorDetail | null>;
}
