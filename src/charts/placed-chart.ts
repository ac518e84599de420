/** A chart with a place for everything in it, in pixels from the top left corner. Who draws it decides on colours and nothing else. */
import type { ChartState } from '../ports/chart-data.ts';

export type Point = { readonly x: number; readonly y: number };
export type Box = Point & { readonly width: number; readonly height: number };

/** What a line tells, so that it can look like that. `stays`: a transition that leads nowhere else. */
export type TextLine = {
  readonly kind: 'name' | 'tags' | 'invoke' | 'entry' | 'exit' | 'stays' | 'event' | 'actions';
  readonly text: string;
  /** Its baseline begins here. */
  readonly at: Point;
};

export type PlacedState = Box & {
  /** As in ChartData: dotted, empty for the chart itself. */
  readonly path: string;
  readonly type: ChartState['type'];
  readonly tags: readonly string[];
  readonly lines: readonly TextLine[];
};

/** The dot that stands for "it begins here". */
export type PlacedInitial = Point & { readonly radius: number; readonly of: string; readonly points: readonly Point[] };

/** All transitions from one state to another are one arrow. */
export type PlacedArrow = {
  readonly from: string;
  readonly to: string;
  /** From a state to one within it: it begins inside, at a bar that stands for "wherever it is in here". */
  readonly inward: boolean;
  /** The transitions' events as XState names them, for whoever lights the arrow up. */
  readonly events: readonly string[];
  /** From its beginning to its tip, with corners between. */
  readonly points: readonly Point[];
  readonly label: (Box & { readonly lines: readonly TextLine[] }) | null;
};

export type PlacedChart = {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  /** Outer ones before those in them: drawn in this order, nothing hides anything. */
  readonly states: readonly PlacedState[];
  readonly initials: readonly PlacedInitial[];
  readonly arrows: readonly PlacedArrow[];
};
