/**
 * The intents of one life: what is open on disk, and the writing of it.
 *
 * Opening is waited for, since no call may leave before its intent is durable. Closing is not: an intent that stays open over a crash
 * only makes the next life look twice. It rides with the next intent that is written, or goes after a moment together with others,
 * so that it never stands before a lease in the store's line. What the answer said of addresses takes the intent's place for as long as
 * Describe may be late about it: one or the other is on disk at any moment.
 */
import { type Intent, parseIntent, type TakingIntent, takingId } from '../src/core/intent.ts';
import { ANSWER_VERSION, type AnswerRecord, parseAnswers, type Said, said } from '../src/core/late-describe.ts';
import type { Log } from '../src/ports/log.ts';
import type { Store, StoreOp } from '../src/ports/store.ts';
import type { Timers } from './timers.ts';

/** How long a closed intent waits for another write to ride with. */
const CLOSE_DELAY_MS = 50;
type StruckOut = (intent: Intent) => Promise<readonly StoreOp[]>;

/** The store refused: asked again after this. */
const RETRY_MS = 1_000;

export class Intents {
  readonly #store: Store;
  readonly #timers: Timers;
  readonly #log: Log;
  readonly #struckOut: StruckOut | null;
  readonly #open = new Map<string, Intent>();
  /** Closed, and perhaps still on disk. */
  readonly #closed = new Set<string>();
  /** Slot -> id: the intent of an ENI actor. */
  readonly #bySlot = new Map<number, string>();
  /** By ENI: what answers said lately, as it is on disk or is to be. */
  readonly #answers = new Map<string, readonly Said[]>();
  readonly #unwritten = new Set<string>();
  #answeredMs = 0;
  #changes = 0;
  #timer: unknown = null;

  /** @param struckOut what has to go to disk with an intent (eni-memory.ts) */
  constructor(store: Store, timers: Timers, log: Log, struckOut: StruckOut | null = null) {
    this.#store = store;
    this.#timers = timers;
    this.#log = log;
    this.#struckOut = struckOut;
  }

  /** Takes over what an earlier life left open. */
  adopt(intents: readonly Intent[], answers: ReadonlyMap<string, readonly Said[]> = new Map()): void {
    for (const intent of intents) this.#open.set(intent.id, intent);
    for (const [eniId, said] of answers) this.#answers.set(eniId, said);
  }

  of(id: string): Intent | null {
    return this.#open.get(id) ?? null;
  }

  /** The Unassign that may be carried out yet. Earlier versions kept it under the ENI's own id. */
  taking(eniId: string): TakingIntent | null {
    const found = this.of(takingId(eniId)) ?? this.of(eniId);
    return found?.kind === 'unassign' ? found : null;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Grows with every intent of this life that is opened or closed: as long as it does not, no call of ours begins or ends. */
  get changes(): number {
    return this.#changes;
  }

  /**
   * Resolves when the intent is durable; it takes the place of the one this slot had, an Unassign beside it only when the ENI goes. Rejects with EnactorError `store`: then the call
   * must not be made.
   */
  async open(intent: Intent): Promise<void> {
    const { id, slot } = intent;
    this.#changes += 1;
    const struckOut = this.#struckOut === null ? [] : await this.#struckOut(intent);
    const isTaking = intent.kind === 'unassign';
    const ofSlot = this.#bySlot.get(slot);
    const ofId = this.#open.get(id);
    const taken = intent.kind === 'detach' || intent.kind === 'delete' ? this.taking(intent.eniId) : null;
    const replaced = [
      ...(ofSlot !== undefined && ofSlot !== id && !isTaking ? [ofSlot] : []),
      ...(taken === null || taken.id === id ? [] : [taken.id]),
    ];
    const wasClosed = this.#closed.delete(id);
    const riding = this.#takeClosed();
    const told = this.#takeAnswers(intent.atMs);
    // Counts as open from now on, so that a deletion that fails meanwhile is not tried again.
    this.#open.set(id, intent);
    if (!isTaking) this.#bySlot.set(slot, id);
    try {
      await this.#store.write([
        ...[...replaced, ...riding].map(deletion),
        ...told.ops,
        ...struckOut,
        { type: 'put', in: 'intents', key: id, value: intent },
      ]);
    } catch (error) {
      if (this.#open.get(id) === intent) {
        restore(this.#open, id, ofId);
        if (!isTaking) restore(this.#bySlot, slot, ofSlot);
      }
      this.#putBack(wasClosed ? [...riding, id] : riding, told.eniIds);
      throw error;
    }
    for (const other of replaced) this.#open.delete(other);
  }

  /** The truth about it is known. One that is not open any more is no error. */
  close(intent: Intent): void {
    const { id, slot } = intent;
    if (this.#open.get(id) !== intent) return;
    this.#changes += 1;
    this.#open.delete(id);
    if (this.#bySlot.get(slot) === id) this.#bySlot.delete(slot);
    this.#closed.add(id);
    this.#arm(CLOSE_DELAY_MS);
  }

  /** As `close`, where the answer said of these addresses that they are there, or not, whatever Describe shows until `untilMs`. */
  answered(
    intent: Intent & { readonly eniId: string },
    ips: readonly string[],
    there: boolean,
    nowMs: number,
    untilMs: number,
  ): void {
    const { eniId } = intent;
    this.#answers.set(eniId, said(this.#answers.get(eniId) ?? [], ips, there, { nowMs, lateMs: untilMs - nowMs }));
    this.#unwritten.add(eniId);
    this.#answeredMs = nowMs;
    this.close(intent);
  }

  /** Writes what is closed now. Never rejects. */
  async flush(): Promise<void> {
    if (this.#timer !== null) this.#timers.clearTimeout(this.#timer);
    this.#timer = null;
    const going = this.#takeClosed();
    const told = this.#takeAnswers(this.#answeredMs);
    if (going.length + told.ops.length === 0) return;
    try {
      await this.#store.write([...going.map(deletion), ...told.ops]);
    } catch (error) {
      this.#log.warn({ intents: going.length, err: String(error) }, 'closed intents cannot be deleted yet');
      this.#putBack(going, told.eniIds);
    }
  }

  #takeClosed(): readonly string[] {
    const taken = [...this.#closed];
    this.#closed.clear();
    return taken;
  }

  /** Those of other ENIs go with them once they are old. */
  #takeAnswers(nowMs: number): { readonly eniIds: readonly string[]; readonly ops: readonly StoreOp[] } {
    const eniIds = [...this.#unwritten];
    this.#unwritten.clear();
    if (eniIds.length === 0) return { eniIds, ops: [] };
    const old = [...this.#answers].filter(([, all]) => all.every(({ untilMs }) => untilMs <= nowMs));
    for (const [eniId] of old) this.#answers.delete(eniId);
    const ops = eniIds.flatMap((key): StoreOp[] => {
      const said = this.#answers.get(key);
      const value = { version: ANSWER_VERSION, said: said ?? [] } satisfies AnswerRecord;
      return said === undefined ? [] : [{ type: 'put', in: 'answers', key, value }];
    });
    return { eniIds, ops: [...ops, ...old.map(([key]): StoreOp => ({ type: 'del', in: 'answers', key }))] };
  }

  #putBack(ids: readonly string[], eniIds: readonly string[]): void {
    for (const id of ids) if (!this.#open.has(id)) this.#closed.add(id);
    for (const eniId of eniIds) this.#unwritten.add(eniId);
    if (ids.length + eniIds.length > 0) this.#arm(RETRY_MS);
  }

  #arm(delayMs: number): void {
    this.#timer ??= this.#timers.setTimeout(() => {
      this.#timer = null;
      void this.flush();
    }, delayMs);
  }
}

function restore<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

const deletion = (key: string): StoreOp => ({ type: 'del', in: 'intents', key });

export type IntentsOnDisk = {
  readonly open: readonly Intent[];
  /** Some cannot be read: told, and left where they are, since the tags of what they made still tell of it. */
  readonly unreadable: readonly string[];
};

export async function readIntents(store: Pick<Store, 'read'>, log: Log): Promise<IntentsOnDisk> {
  const open: Intent[] = [];
  const lost: string[] = [];
  for (const { key, value, unreadable } of await store.read('intents')) {
    const intent = unreadable === undefined ? parseIntent(value) : null;
    if (intent !== null) open.push(intent);
    else {
      lost.push(key);
      log.error({ intent: key, unreadable }, 'an intent cannot be read');
    }
  }
  return { open, unreadable: lost };
}

/** By ENI: what answers said of addresses lately. */
export async function readAnswers(store: Pick<Store, 'read'>): Promise<ReadonlyMap<string, readonly Said[]>> {
  const records = await store.read('answers');
  return new Map(records.map(({ key, value }) => [key, parseAnswers(value)]));
}
