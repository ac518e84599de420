import type { Ground } from './ground.ts';

/** One thing that every plugin should do. It holds when `holds` resolves. Source: facts/peers 3.7, whose numbers these are. */
export type Point = {
  readonly number: number;
  readonly words: string;
  /** Rejects with an AssertionError that says what is otherwise, or NotApplicable. */
  readonly holds: (ground: Ground) => Promise<void>;
};
