/** A statechart as plain data. States are named by their dotted path from the root, which is the empty path. */
export type ChartTransition = {
  /** As XState names it; empty for one that is taken at once. */
  readonly event: string;
  /** The same for people: `always`, `after backoff`, `done`, `failed`, or the event. */
  readonly on: string;
  readonly guard: string | null;
  /** Empty when the state stays. */
  readonly targets: readonly string[];
  readonly actions: readonly string[];
};

export type ChartState = {
  readonly path: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  readonly initial: string | null;
  readonly tags: readonly string[];
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly invokes: readonly { readonly src: string; readonly id: string }[];
  readonly transitions: readonly ChartTransition[];
  readonly states: readonly ChartState[];
};

export type ChartData = ChartState & { readonly id: string };
