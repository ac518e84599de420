/** What a test does to the server behind its clients' backs, and what it sees of them. In this process only. */
import { ApiError } from './api-error.ts';
import type { ApiRequest, Verb } from './route.ts';
import type { ObjectStore } from './store.ts';
import type { WatchStream } from './watch.ts';

/** A request that has every field given here. */
export type RequestMatch = {
  readonly verb?: Verb;
  /** Plural, such as `pods`. */
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
};

export type Fault = {
  readonly count: number;
  /** An HTTP status, answered in place of doing anything; or the connection is torn, before or after the work is done. */
  readonly code: number | 'reset' | 'resetAfter';
  readonly match?: RequestMatch;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
};

export type LedgerEntry = {
  readonly atMs: number;
  readonly user: string;
  readonly verb: Verb;
  readonly resource: string;
  readonly subresource: string | null;
  readonly namespace: string | null;
  readonly name: string | null;
  readonly query: string;
};

/** Entries kept, of each kind; older ones are forgotten. */
export const LEDGER_MAX = 10_000;

export class Admin {
  readonly #store: ObjectStore;
  readonly #watches = new Set<WatchStream>();
  readonly #faults: { left: number; fault: Fault }[] = [];
  readonly #delays = new Set<{ ms: number; match: RequestMatch }>();
  #ledger: LedgerEntry[] = [];
  #denied: string[] = [];
  #gone: 'event' | 'status' = 'event';

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Requests in the order they came, refused ones included. */
  get ledger(): readonly LedgerEntry[] {
    return this.#ledger;
  }

  /** What RBAC and admission policies have refused, in the words of the answers. */
  get denied(): readonly string[] {
    return this.#denied;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  get gone(): 'event' | 'status' {
    return this.#gone;
  }

  /** Adds a fault behind those that are still pending; each matching request meets the first that matches. */
  failNext(fault: Fault): void {
    this.#faults.push({ left: fault.count, fault });
  }

  clearFaults(): void {
    this.#faults.length = 0;
  }

  /** Delays matching requests until the returned function is called. */
  delay(ms: number, match: RequestMatch = {}): () => void {
    const entry = { ms, match };
    this.#delays.add(entry);
    return () => void this.#delays.delete(entry);
  }

  /** Tears the connection of every open watch; returns how many there were. */
  cutWatches(): number {
    return this.#each((watch) => watch.cut());
  }

  /** Ends every open watch in good order, as after its timeout. */
  endWatches(): number {
    return this.#each((watch) => watch.end());
  }

  /** Sends every open watch the error 410 and ends it. */
  expireWatches(): number {
    return this.#each((watch) => watch.expire());
  }

  /** Sends a bookmark to every open watch that asked for them. */
  bookmark(): number {
    return this.#each((watch) => watch.bookmark());
  }

  /** Forgets all history; watches that come back with an old version get 410, in the stream or as the HTTP status. */
  compact(gone: 'event' | 'status' = 'event'): void {
    this.#gone = gone;
    this.#store.compact();
  }

  /** For the handler: notes a request and returns what shall happen to it. */
  meet(user: string, request: ApiRequest, atMs: number): { readonly fault: Fault | null; readonly delayMs: number } {
    const { verb, resource, subresource, namespace, name, query } = request;
    const asked = { verb, resource: resource.plural, subresource, namespace, name };
    this.#ledger.push({ atMs, user, ...asked, query: query.toString() });
    if (this.#ledger.length > LEDGER_MAX) this.#ledger = this.#ledger.slice(LEDGER_MAX / 10);
    const delayMs = [...this.#delays].filter(({ match }) => fits(request, match)).reduce((sum, { ms }) => sum + ms, 0);
    const index = this.#faults.findIndex(({ fault }) => fits(request, fault.match ?? {}));
    const entry = this.#faults[index];
    if (entry === undefined) return { fault: null, delayMs };
    entry.left -= 1;
    if (entry.left <= 0) this.#faults.splice(index, 1);
    return { fault: entry.fault, delayMs };
  }

  /** For the handler: runs what refuses by throwing, and notes that it did. */
  judge(by: () => void): void {
    try {
      by();
    } catch (error) {
      if (error instanceof ApiError) this.#denied = [...this.#denied, error.message].slice(-LEDGER_MAX);
      throw error;
    }
  }

  /** For the handler: an open watch. */
  opened(watch: WatchStream): void {
    this.#watches.add(watch);
    watch.onClose(() => void this.#watches.delete(watch));
  }

  #each(act: (watch: WatchStream) => void): number {
    const open = [...this.#watches];
    for (const watch of open) act(watch);
    return open.length;
  }
}

function fits({ verb, resource, namespace, name }: ApiRequest, match: RequestMatch): boolean {
  return (
    (match.verb === undefined || match.verb === verb) &&
    (match.resource === undefined || match.resource === resource.plural) &&
    (match.namespace === undefined || match.namespace === namespace) &&
    (match.name === undefined || match.name === name)
  );
}
