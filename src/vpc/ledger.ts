/** Every call that came in, in order; a bounded ring that says how much it has forgotten. */
export type LedgerEntry = {
  /** 1, 2, 3, ... over the life of the cloud. */
  readonly seq: number;
  readonly atMs: number;
  /** When the answer was due; null while the call is held. */
  readonly answerMs: number | null;
  readonly api: string;
  /** As they came over the wire, without credentials and signature. */
  readonly params: Readonly<Record<string, string>>;
  /** `ok` or the error code. */
  readonly outcome: string;
  readonly status: number;
  readonly requestId: string;
  /** The instance it was about, as far as the call or its ENI tells. */
  readonly instanceId: string | null;
  /** Whether it was carried out and changed something in the cloud. */
  readonly changed: boolean;
  /** Answered from an earlier call with the same ClientToken. */
  readonly replayed: boolean;
  readonly faultIds: readonly string[];
};

export const LEDGER_ENTRIES_MAX = 50_000;

export class Ledger {
  readonly #entries: LedgerEntry[] = [];
  readonly #max: number;
  #seq = 0;

  constructor(max = LEDGER_ENTRIES_MAX) {
    this.#max = max;
  }

  write(entry: Omit<LedgerEntry, 'seq'>): void {
    this.#seq += 1;
    this.#entries.push({ seq: this.#seq, ...entry });
    if (this.#entries.length > this.#max) this.#entries.shift();
  }

  /** Entries after `since` (a `seq`; 0: all), of one API if asked, oldest first. */
  read(since: number, api: string | null): readonly LedgerEntry[] {
    return this.#entries.filter((entry) => entry.seq > since && (api === null || entry.api === api));
  }

  get lastSeq(): number {
    return this.#seq;
  }

  /** How many of the oldest entries are no longer kept. */
  get forgotten(): number {
    return this.#seq - this.#entries.length;
  }
}
