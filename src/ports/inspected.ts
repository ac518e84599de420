/** What a watcher sees of the actors as it happens; everything in it is plain JSON. */

type Seen = {
  /** Grows by one with each that this watcher is told of. */
  readonly seq: number;
  readonly atMs: number;
  /** Path of the actor in the tree, `node/eniFactory/eni:0`. */
  readonly actor: string;
};

export type Inspected =
  /** There is this actor: all of them when the watching begins, and each new one from then on. */
  | (Seen & {
      readonly kind: 'actor';
      /** The chart's id; null for a call, a timer or a watch that a chart has invoked. */
      readonly chart: string | null;
      readonly state: string | null;
      /** Bounded, and only when it was asked for. */
      readonly context?: unknown;
    })
  /** It was told something; `from` is null for what came from outside. */
  | (Seen & {
      readonly kind: 'event';
      readonly from: string | null;
      readonly event: { readonly type: string; readonly [field: string]: unknown };
    })
  /** What it is now, after an event. */
  | (Seen & {
      readonly kind: 'state';
      readonly state: string | null;
      readonly status: string;
      /** The type of the event that led to it. */
      readonly by: string;
      /** Bounded, and only when it was asked for. */
      readonly context?: unknown;
    });

export type WatchOptions = {
  /** Contexts go along, which costs the node some time at each event. */
  readonly context: boolean;
};

/** `json`: the same as text, which is made only when it is asked for, and once for all who watch in the same way. */
export type WatchListener = (event: Inspected, json?: () => string) => void;
