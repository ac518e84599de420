/** What an invoked call brings back, with the instant it came: charts read no clock. */
export type At<T> = {
  readonly atMs: number;
  /** When it was asked for, where that matters: what is told may be as old. */
  readonly askedMs?: number;
  readonly value: T;
};
