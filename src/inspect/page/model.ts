/**
 * What the page knows, and what it shows just now: the present as it comes in, or one moment of the past. Panes are told what has changed
 * some times a second, however much has come in.
 */
import type { Inspected } from '../../ports/inspected.ts';
import type { NodeReport } from '../../ports/introspection.ts';
import type { ChartTold, Mark, Moment, SourceTold, Told } from '../told.ts';
import { Concerns } from './concerns.ts';
import type { Connection } from './connection.ts';
import { type Row, rowsOf } from './lifelines.ts';
import { nameOf } from './words.ts';

export type Topic = 'source' | 'charts' | 'report' | 'rows' | 'selection' | 'follow' | 'time';

export type ActorShown = {
  readonly path: string;
  readonly chart: string | null;
  readonly state: string;
  readonly sinceMs: number;
};

const FACTORY = 'node/eniFactory';
const EMPTY: NodeReport = { state: '', missing: [], enis: [], pool: null, leases: [], waiting: [], actors: [] };
/** Rows of the present that can be scrolled back to. */
const ROWS_MAX = 3_000;
/** More than a node has. */
const PODS_MAX = 5_000;
const DRAW_MS = 120;
/** Of work in one frame, beside what the browser makes of it. */
const FRAME_MS = 4;

type NamedSandbox = {
  readonly containerId: string;
  readonly ifName: string;
  readonly pod: { readonly namespace: string; readonly name: string };
};

function isSandbox(value: unknown): value is NamedSandbox {
  const { containerId, ifName, pod } = (value ?? {}) as Partial<NamedSandbox>;
  return typeof containerId === 'string' && typeof ifName === 'string' && typeof pod?.name === 'string';
}

type Travel = { readonly moment: Moment; readonly rows: readonly Row[] };

export class Model {
  readonly connection: Connection;
  source: SourceTold | null = null;
  away: string | null = null;
  lost: string | null = null;
  chartsFailure: string | null = null;
  charts: ReadonlyMap<string, ChartTold> = new Map();
  selected = 'node';
  follow: Concerns | null = null;
  marks: readonly Mark[] = [];
  /** Why there is no past to travel to; null when there is one, or nobody has asked yet. */
  noPast: string | null = null;
  tape = 0;
  #live = { report: EMPTY, atMs: 0 };
  #liveRows: Row[] = [];
  readonly #liveStates = new Map<string, string | null>();
  #actors = new Map<string, ActorShown>();
  /** Whose each lease is: by their path, which names only a container. */
  readonly #pods = new Map<string, string>();
  #travel: Travel | null = null;
  #asked = 0;
  readonly #listeners: (readonly [Topic, () => void])[] = [];
  readonly #changed = new Set<Topic>();
  #drawing = false;
  #drawnMs = 0;
  readonly #due = new Set<() => void>();

  constructor(connection: Connection) {
    this.connection = connection;
  }

  on(topics: readonly Topic[], draw: () => void): void {
    for (const topic of topics) this.#listeners.push([topic, draw]);
  }

  changed(...topics: readonly Topic[]): void {
    for (const topic of topics) this.#changed.add(topic);
    if (this.#drawing) return;
    this.#drawing = true;
    // What a person has done is seen at once; what comes in, some times a second.
    const comesIn = topics.every((topic) => topic === 'rows' || topic === 'report');
    const waitMs = comesIn ? this.#drawnMs + DRAW_MS - performance.now() : 0;
    if (waitMs <= 0) requestAnimationFrame(() => this.#draw());
    else setTimeout(() => requestAnimationFrame(() => this.#draw()), waitMs);
  }

  /** As many panes as one frame has room for, and the others in the next. */
  #draw(): void {
    const beganMs = performance.now();
    for (const [topic, draw] of this.#listeners) if (this.#changed.has(topic)) this.#due.add(draw);
    this.#changed.clear();
    for (const draw of this.#due) {
      this.#due.delete(draw);
      draw();
      if (performance.now() - beganMs > FRAME_MS) break;
    }
    this.#drawnMs = performance.now();
    this.#drawing = this.#due.size > 0;
    if (this.#drawing) requestAnimationFrame(() => this.#draw());
    else if (this.#changed.size > 0) this.changed(...this.#changed);
  }

  get live(): boolean {
    return this.#travel === null;
  }

  /** Of the past that is shown; what there is of it when the present is. */
  get index(): number {
    return this.#travel?.moment.index ?? this.marks.length;
  }

  get report(): NodeReport {
    return this.#travel?.moment.report ?? this.#live.report;
  }

  /** The instant that is shown; `nowMs` while the node goes on. */
  atMs(nowMs: number): number {
    return this.#travel?.moment.atMs ?? (this.away === null && this.lost === null ? nowMs : this.#live.atMs);
  }

  /** Oldest first. */
  get rows(): readonly Row[] {
    return this.#travel?.rows ?? this.#liveRows;
  }

  /** Rows from this `seq` on are what the input that is shown has led to; null while there is no such input. */
  get fromSeq(): number | null {
    return this.#travel?.moment.fromSeq ?? null;
  }

  get actors(): ReadonlyMap<string, ActorShown> {
    return this.#actors;
  }

  hear(told: Told): void {
    switch (told.kind) {
      case 'source':
        this.source = told.source;
        this.#liveStates.clear();
        this.changed('source');
        return;
      case 'away':
        this.away = told.why;
        this.changed('source');
        return;
      case 'charts':
        this.chartsFailure = told.failure;
        this.changed('source');
        if (told.failure === null) void this.readCharts();
        return;
      case 'report':
        this.#live = told;
        if (!this.live) return;
        this.#takeActors(told.report);
        this.changed('report');
        return;
      case 'seen':
        this.#see(told.seen);
    }
  }

  #see(seen: readonly Inspected[]): void {
    this.#liveRows.push(...rowsOf(seen, this.#liveStates));
    if (this.#liveRows.length > ROWS_MAX * 1.2) this.#liveRows = this.#liveRows.slice(-ROWS_MAX);
    if (!this.live) return;
    for (const one of seen) {
      this.#learnPod(one);
      const known = this.#actors.get(one.actor);
      if (one.kind === 'event' || one.state === null || known?.state === one.state) continue;
      const chart = one.kind === 'actor' ? one.chart : (known?.chart ?? null);
      this.#actors.set(one.actor, { path: one.actor, chart, state: one.state, sinceMs: one.atMs });
    }
    this.changed('rows');
  }

  #takeActors(report: NodeReport): void {
    this.#actors = new Map(report.actors.map((actor) => [actor.path, actor]));
    this.follow?.learn(report);
    for (const { sandbox } of report.leases) this.#isOf(sandbox);
  }

  /** Who asks says for whom. */
  #learnPod(seen: Inspected): void {
    if (seen.kind === 'event' && isSandbox(seen.event.sandbox)) this.#isOf(seen.event.sandbox);
  }

  #isOf({ containerId, ifName, pod: { namespace, name } }: NamedSandbox): void {
    if (this.#pods.size > PODS_MAX) this.#pods.clear();
    this.#pods.set(
      `node/leases/lease:${containerId}/${ifName}`,
      namespace === 'default' ? name : `${namespace}/${name}`,
    );
  }

  /** A lease by its pod's name, when that is known. */
  nameOf(path: string): string {
    return this.#pods.get(path) ?? nameOf(path);
  }

  async readCharts(): Promise<void> {
    const charts = (await this.connection.ask<readonly ChartTold[]>('/api/charts')) ?? [];
    this.charts = new Map(charts.map((one) => [one.chart.id, one]));
    this.changed('charts');
  }

  select(path: string): void {
    this.selected = path;
    this.changed('selection');
  }

  /** null: nobody in particular. Shows the pod's lease where there is one. */
  followPod(pod: string | null): void {
    this.follow = pod === null ? null : new Concerns(pod);
    this.follow?.learn(this.report);
    const lease = [...this.#actors.keys()].find((path) => this.follow?.hasActor(path));
    // Who has none waits at the factory, or was refused there.
    if (lease !== undefined) this.select(lease);
    else if (pod !== null && this.#actors.has(FACTORY)) this.select(FACTORY);
    this.changed('follow');
  }

  /** Brings the time line up to now. */
  async readPast(): Promise<void> {
    const told = await this.connection.ask<{ why: string | null; marks: readonly Mark[] }>('/api/past', {
      tape: this.tape,
    });
    this.marks = told?.marks ?? [];
    this.noPast = told === null ? 'there is no such life' : told.why;
    this.changed('time');
  }

  /** Shows the node after this input. Of several asked for at once the last one is shown. */
  async travelTo(index: number): Promise<void> {
    if (this.live && this.source?.what === 'node') await this.readPast();
    if (this.noPast !== null) {
      this.changed('time');
      return;
    }
    const near = Math.min(Math.max(0, index), this.marks.length);
    this.#asked += 1;
    const asked = this.#asked;
    const moment = await this.connection.ask<Moment>('/api/past/moment', { tape: this.tape, index: near });
    if (moment === null || asked !== this.#asked) return;
    this.#travel = { moment, rows: rowsOf(moment.seen, new Map()) };
    for (const one of moment.seen) this.#learnPod(one);
    this.#takeActors(moment.report);
    this.changed('time', 'report', 'rows', 'follow');
  }

  /** Stops where things are now. */
  async pause(): Promise<void> {
    if (this.source?.what === 'node') await this.readPast();
    await this.travelTo(this.marks.length);
  }

  goLive(): void {
    if (this.source?.what !== 'node') return;
    this.#asked += 1;
    this.#travel = null;
    this.#takeActors(this.#live.report);
    this.changed('time', 'report', 'rows', 'follow');
  }
}
