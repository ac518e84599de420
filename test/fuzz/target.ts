/** Something that reads what others wrote: from the same bytes it has to come to the same end, quickly, and by no other way than it says. */
export type Target = {
  readonly name: string;
  /** What it is in the product, for the report. */
  readonly about: string;
  readonly seeds: readonly Buffer[];
  /** Returns or resolves when it has read them; what it throws has to be `expected`. */
  run(data: Buffer): void | Promise<void>;
  expected(thrown: unknown): boolean;
};
