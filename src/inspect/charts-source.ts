/** The charts alone, for those who write them: no node, no past. */
import { charts } from '../../actors/chart-data.ts';
import type { ChartData } from '../ports/chart-data.ts';
import type { Source } from './source.ts';
import { tapedSource } from './taped-source.ts';
import type { Told } from './told.ts';

export function chartsSource(): Source {
  return tapedSource('charts', 'statecharts', [], charts());
}

/** Charts that change while they are looked at. */
export class ChangingCharts implements Source {
  readonly told = { what: 'charts', title: 'statecharts', tapes: [] } as const;
  readonly #readers = new Set<(told: Told) => void>();
  #charts: readonly ChartData[];

  constructor(first: readonly ChartData[]) {
    this.#charts = first;
  }

  /** A sentence in place of charts: why there are none; those of before stay. */
  changed(to: readonly ChartData[] | string): void {
    if (typeof to !== 'string') this.#charts = to;
    for (const tell of this.#readers) tell({ kind: 'charts', failure: typeof to === 'string' ? to : null });
  }

  watch(tell: (told: Told) => void): () => void {
    this.#readers.add(tell);
    tell({ kind: 'source', source: this.told });
    return () => this.#readers.delete(tell);
  }

  async charts(): Promise<readonly ChartData[]> {
    return this.#charts;
  }

  async past() {
    return { why: 'there is no node', marks: [] };
  }

  async actor() {
    return null;
  }

  async why() {
    return null;
  }

  async momentOf() {
    return null;
  }

  async actorAt() {
    return null;
  }
}
