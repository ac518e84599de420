/**
 * A node that runs, read through its debug socket. Its actors are watched only while a page is open; its past is a replay of its inputs
 * journal in this process, so that looking back costs the node a few pages of its journal.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { replaying } from '../../actors/replay.ts';
import { askDebug, debugLines } from '../adapters/http/debug-client.ts';
import type { Page } from '../adapters/http/debug-pages.ts';
import type { Input, JournalPage } from '../core/input-journal.ts';
import { JOURNAL_PAGE_MAX } from '../core/input-journal.ts';
import { type Life, whyNoReplay } from '../core/support-bundle.ts';
import type { ChartData } from '../ports/chart-data.ts';
import type { Inspected } from '../ports/inspected.ts';
import type { ActorDetail, NodeReport, Why } from '../ports/introspection.ts';
import type { Source } from './source.ts';
import { Tape } from './tape.ts';
import type { PastTold, Told } from './told.ts';

/** What is seen goes to the page in batches: the eye takes no more. */
const BATCH_MS = 40;
/** As `enactor watch` reads, and only when something has happened. */
const REPORT_MS = 500;
/** What nothing announces, such as the end of a hold, is seen after this long. */
const REPORT_LATEST_MS = 3_000;
const AGAIN_MS = 1_000;

export class NodeSource implements Source {
  readonly told: Source['told'];
  readonly #socket: string;
  #taped: { readonly startMs: number; readonly tape: Tape; take(input: Input): void; lastSeq: number } | null = null;
  #taping: Promise<PastTold> | null = null;

  constructor(socketPath: string, title: string) {
    this.#socket = socketPath;
    this.told = { what: 'node', title, tapes: ['this life'] };
  }

  watch(tell: (told: Told) => void): () => void {
    const ended = new AbortController();
    tell({ kind: 'source', source: this.told });
    const news = { any: true };
    void this.#listen(tell, news, ended.signal);
    void this.#report(tell, news, ended.signal);
    return () => ended.abort();
  }

  /** A stream that is cut, and a daemon that goes and comes again, are listened to anew. */
  async #listen(tell: (told: Told) => void, news: { any: boolean }, signal: AbortSignal): Promise<void> {
    let batch: Inspected[] = [];
    const flush = setInterval(() => {
      if (batch.length === 0) return;
      tell({ kind: 'seen', seen: batch });
      batch = [];
    }, BATCH_MS);
    try {
      while (!signal.aborted) {
        try {
          for await (const line of debugLines(this.#socket, '/v1/streams/inspection', signal)) {
            batch.push(JSON.parse(line) as Inspected);
            news.any = true;
          }
        } catch {
          // That it is away is told by the one that reads the report.
        }
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
      }
    } finally {
      clearInterval(flush);
    }
  }

  async #report(tell: (told: Told) => void, news: { any: boolean }, signal: AbortSignal): Promise<void> {
    let away = false;
    let toldMs = 0;
    while (!signal.aborted) {
      try {
        if (news.any || away || Date.now() - toldMs > REPORT_LATEST_MS) {
          news.any = false;
          const report = await this.#ask<NodeReport>('/v1/report');
          if (away) tell({ kind: 'away', why: null });
          away = false;
          toldMs = Date.now();
          if (!signal.aborted) tell({ kind: 'report', report, atMs: toldMs });
        }
      } catch (error) {
        if (!away) tell({ kind: 'away', why: (error as Error).message });
        away = true;
      }
      await sleep(away ? AGAIN_MS : REPORT_MS, undefined, { signal }).catch(() => {});
    }
  }

  async actor(path: string): Promise<ActorDetail | null> {
    return await this.#askOrNull<ActorDetail>(`/v1/actors/${encodeURIComponent(path)}`);
  }

  async why(pod: string): Promise<Why | null> {
    return await this.#askOrNull<Why>(`/v1/why?pod=${encodeURIComponent(pod)}`);
  }

  async charts(): Promise<readonly ChartData[]> {
    return (await this.#ask<Page<ChartData>>('/v1/charts')).items;
  }

  async past(): Promise<PastTold> {
    this.#taping ??= this.#goOn().finally(() => {
      this.#taping = null;
    });
    return await this.#taping;
  }

  async momentOf(_tape: number, index: number) {
    return this.#taped?.tape.at(index) ?? null;
  }

  async actorAt(_tape: number, index: number, path: string) {
    return this.#taped?.tape.actor(path, index) ?? null;
  }

  /** Brings the tape up to now. */
  async #goOn(): Promise<PastTold> {
    const life = await this.#ask<Life>('/v1/life');
    const before = this.#taped?.startMs === life.startMs ? this.#taped : null;
    const inputs = await this.#inputsAfter(before?.lastSeq ?? life.seqBefore);
    const report = { atSeq: inputs.at(-1)?.seq ?? before?.lastSeq ?? life.seqBefore };
    const beforeThem = { ...life, seqBefore: before?.lastSeq ?? life.seqBefore };
    const why = inputs.length === 0 && before !== null ? null : whyNoReplay({ life: beforeThem, inputs, report });
    if (why !== null) {
      this.#taped = null;
      return { why, marks: [] };
    }
    this.#taped = before ?? taped(life);
    for (const input of inputs) this.#taped.take(input);
    this.#taped.lastSeq = report.atSeq;
    return { why: null, marks: this.#taped.tape.marks };
  }

  async #inputsAfter(since: number): Promise<readonly Input[]> {
    const inputs: Input[] = [];
    for (let from = since; ; ) {
      const page = await this.#ask<JournalPage>(`/v1/journal?since=${from}&limit=${JOURNAL_PAGE_MAX}`);
      inputs.push(...page.inputs);
      if (page.inputs.length < JOURNAL_PAGE_MAX) return inputs;
      from = page.next;
    }
  }

  async #ask<T>(path: string): Promise<T> {
    const { status, body } = await askDebug(this.#socket, path);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    return JSON.parse(body) as T; // the daemon's own type, of the same build
  }

  async #askOrNull<T>(path: string): Promise<T | null> {
    const { status, body } = await askDebug(this.#socket, path);
    return status === 200 ? (JSON.parse(body) as T) : null;
  }
}

function taped({ startMs, settings, seqBefore }: Life) {
  const tape = new Tape(startMs);
  const { take } = replaying(settings, startMs, (event, atMs) => tape.heard(event, atMs));
  return { startMs, tape, take, lastSeq: seqBefore };
}
