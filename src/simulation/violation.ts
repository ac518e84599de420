/** An invariant that did not hold, or an expectation at rest: what was expected and what was there. */
export type Violation = {
  /** `1` to `10` as the design numbers them, or a word. */
  readonly invariant: string;
  readonly what: string;
  /** Step and virtual time of its discovery. */
  readonly step: number;
  readonly atMs: number;
};

export type Report = (invariant: string, what: string) => void;
