/**
 * Every event that enters the actors from outside: what callers ask, what invoked calls bring back and when, what timers fire. Charts
 * are pure, so these in their order are all there is to know about a run.
 *
 * Nothing secret can be among them: events carry pods, addresses, ENIs and failures; credentials never leave their adapter.
 */
import { EnactorError, type Failure, failureOf } from './errors.ts';

export type Input = {
  /** Grows by one with each, and over restarts: the first of a life is the microsecond of its start. */
  readonly seq: number;
  readonly atMs: number;
  /** The actor that it reached: `node`, `eniFactory`, `eni:0`, `lease:c1/eth0`. */
  readonly actor: string;
  readonly event: { readonly type: string; readonly [field: string]: unknown };
};

export type JournalQuery = {
  /** Only what came after this one. */
  readonly since: number;
  readonly limit: number;
};

export type JournalPage = {
  /** Oldest first. */
  readonly inputs: readonly Input[];
  /** What to ask for next: the seq of the last of these, or `since`. */
  readonly next: number;
  readonly lastSeq: number;
  /** The oldest that is kept; a reader whose `since` is before it has missed some. Null when there are none. */
  readonly firstSeq: number | null;
  /** Inputs of this life that never reached the disk, since the store was slow or failed. */
  readonly unwritten: number;
};

/** Inputs one page carries at most. */
export const JOURNAL_PAGE_MAX = 1_000;

const MICROSECONDS = 1_000;

export const firstSeq = (startMs: number): number => Math.trunc(startMs) * MICROSECONDS;

/** Keys sort as numbers do. */
export const inputKey = (seq: number): string => String(seq).padStart(16, '0');

const MAP = '$map';
const FAILURE = '$failure';

/** The record of an input as JSON can hold it: a Map is `{$map: entries}`, an error `{$failure: {code, detail}}`. */
export function plainInput(input: Input): Input {
  return JSON.parse(JSON.stringify(input, plain)) as Input;
}

/** The input that a record tells of, as a chart takes it. */
export function livingInput(record: Input): Input {
  return JSON.parse(JSON.stringify(record), living) as Input;
}

function plain(_key: string, value: unknown): unknown {
  if (value instanceof Map) return { [MAP]: [...value] };
  if (value instanceof Error) return { [FAILURE]: failureOf(value) };
  return value;
}

function living(_key: string, value: unknown): unknown {
  const { [MAP]: entries, [FAILURE]: failure } = (value ?? {}) as Record<string, unknown>;
  if (Array.isArray(entries)) return new Map(entries as [unknown, unknown][]);
  if (failure === undefined) return value;
  const { code, detail } = failure as Failure;
  return new EnactorError(code, detail);
}

/** null when the value is no input. */
export function parseInput(value: unknown): Input | null {
  const input = value as Partial<Input> | null;
  if (input === null || typeof input !== 'object') return null;
  const { seq, atMs, actor, event } = input;
  const whole = Number.isSafeInteger(seq) && typeof atMs === 'number' && typeof actor === 'string';
  return whole && typeof event?.type === 'string' ? (input as Input) : null;
}
