/** What the server of the inspector's page tells the page. All of it is plain JSON; the page and the server are of one build. */
import type { PlacedChart } from '../charts/placed-chart.ts';
import type { ChartData } from '../ports/chart-data.ts';
import type { Inspected } from '../ports/inspected.ts';
import type { ActorDetail, NodeReport, Why } from '../ports/introspection.ts';

/** What is looked at. `charts`: no node at all. */
export type SourceKind = 'node' | 'bundle' | 'simulation' | 'charts';

export type SourceTold = {
  readonly what: SourceKind;
  readonly title: string;
  /** Lives that can be travelled: of a simulation one for each life of each node; else one, or none. */
  readonly tapes: readonly string[];
};

/** One line of the stream. */
export type Told =
  | { readonly kind: 'source'; readonly source: SourceTold }
  | { readonly kind: 'report'; readonly report: NodeReport; readonly atMs: number }
  | { readonly kind: 'seen'; readonly seen: readonly Inspected[] }
  /** The node does not answer, or does again (null). */
  | { readonly kind: 'away'; readonly why: string | null }
  /** Charts were changed by those who write them; `failure` when they cannot be had. */
  | { readonly kind: 'charts'; readonly failure: string | null };

export type ChartTold = { readonly chart: ChartData; readonly placed: PlacedChart };

/** An input of a life, as the time line shows it. */
export type Mark = readonly [atMs: number, actor: string, event: string];

/** The past of a life, or why it cannot be had. */
export type PastTold = { readonly why: string | null; readonly marks: readonly Mark[] };

/** The node after one of its inputs; `index` counts them from 1, 0 is before the first. */
export type Moment = {
  readonly index: number;
  readonly atMs: number;
  readonly report: NodeReport;
  /** The first `seq` of what this input has led to. */
  readonly fromSeq: number;
  /** What was seen last, up to then. */
  readonly seen: readonly Inspected[];
};

export type { ActorDetail, Inspected, NodeReport, Why };
