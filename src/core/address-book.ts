/**
 * The addresses one ENI owns, each in one of seven states. A pure reducer: every function returns a new book.
 *
 * idle -> offered (promised, not yet persisted) -> bound -> cooling (freed, resting) -> idle; idle -> leaving (unassign under way)
 * -> out of the book; anything the cloud no longer reports while somebody holds it -> invalid.
 */
import type { Address } from './address.ts';
import type { SandboxKey } from './sandbox.ts';

export type AddressState = 'idle' | 'offered' | 'bound' | 'cooling' | 'reserved' | 'leaving' | 'invalid';

export type Entry = {
  readonly address: Address;
  /** The ENI's own primary address: it serves a pod too, but goes only with the ENI. */
  readonly primary: boolean;
  readonly state: AddressState;
  /** Who holds it (offered, bound, reserved, invalid). */
  readonly sandbox: SandboxKey | null;
  /** `namespace/name`, for people. */
  readonly pod: string | null;
  /** The request that an offer belongs to, until it is bound or withdrawn. */
  readonly requestId: string | null;
  /** Idle: since when, so that the one that rested longest goes first. Cooling, reserved: until when. */
  readonly atMs: number;
  /** Offered to the pod that it was reserved for: until when, should the offer come to nothing. Else absent. */
  readonly reservedUntilMs?: number;
  /** Offered although it had not rested, or was kept for another pod: what it was, should the offer come to nothing. Else absent. */
  readonly before?: Entry;
  /** Its holder has the whole ENI: as long as it is held, or promised, no other address of the ENI is anybody's. Else absent. */
  readonly ownEni?: true;
};

export type AddressBook = readonly Entry[];
export type Holder = {
  readonly sandbox: SandboxKey;
  readonly pod: string;
  /** It has, or is to have, an ENI of its own. */
  readonly ownEni?: true;
};
/** Who holds an IPv4, as a lease has it, and the IPv6 that the lease names with it. */
export type Held = Holder & {
  readonly ipv6?: string | null;
  /** Nobody holds it: it is kept for the pod until then. */
  readonly reservedUntilMs?: number;
};
export type Counts = Readonly<Record<AddressState, number>>;

export const idle = ({ reservedUntilMs: _, before: __, ownEni: ___, ...entry }: Entry, atMs: number): Entry => ({
  ...entry,
  state: 'idle',
  sandbox: null,
  pod: null,
  requestId: null,
  atMs,
});

/**
 * The book of an ENI whose addresses are `ips` (the primary one first): held ones bound, resting ones cooling, the others idle. What
 * is held and not among them is invalid: its holder is still there, so nobody else may have it.
 */
export function bookOf(
  ips: readonly string[],
  nowMs: number,
  held: ReadonlyMap<string, Held> = new Map(),
  coolUntilMs: ReadonlyMap<string, number> = new Map(),
): AddressBook {
  const entryOf = (ipv4: string, primary: boolean): Entry => ({
    address: { ipv4, ipv6: null },
    primary,
    state: 'idle',
    sandbox: null,
    pod: null,
    requestId: null,
    atMs: nowMs,
  });
  const there = ips.map((ipv4, index): Entry => {
    const holder = held.get(ipv4);
    const until = coolUntilMs.get(ipv4) ?? 0;
    const fresh = entryOf(ipv4, index === 0);
    if (holder !== undefined) {
      const { reservedUntilMs } = holder;
      const own = { ...fresh, ...heldAs(ipv4, holder) };
      return reservedUntilMs === undefined
        ? { ...own, state: 'bound' }
        : { ...own, state: 'reserved', atMs: reservedUntilMs };
    }
    return until > nowMs ? { ...fresh, state: 'cooling', atMs: until } : fresh;
  });
  const missing = [...held].filter(([ipv4, holder]) => !ips.includes(ipv4) && !isKept(holder));
  return [
    ...there,
    ...missing.map(([ipv4, holder]): Entry => ({ ...entryOf(ipv4, false), state: 'invalid', ...heldAs(ipv4, holder) })),
  ];
}

const isKept = ({ reservedUntilMs }: Held): boolean => reservedUntilMs !== undefined;
const heldAs = (ipv4: string, { sandbox, pod, ipv6 = null, ownEni }: Held) => ({
  address: { ipv4, ipv6 },
  sandbox,
  pod,
  ...(ownEni === true && { ownEni }),
});

/** Addresses the cloud just assigned. One that is in the book already is not added again. */
export function added(book: AddressBook, ips: readonly string[], nowMs: number): AddressBook {
  const known = new Set(book.map((entry) => entry.address.ipv4));
  const fresh = [...new Set(ips)].filter((ip) => !known.has(ip));
  return [...book, ...bookOf(fresh, nowMs).map((entry) => ({ ...entry, primary: false }))];
}

const ends = (entry: Entry): boolean => entry.state === 'cooling' || entry.state === 'reserved';

/** With this one in the place of the one at `index`; null: with none there. */
function put(book: AddressBook, index: number, entry: Entry | null): AddressBook {
  const after = book.slice();
  if (entry === null) after.splice(index, 1);
  else after[index] = entry;
  return after;
}

/** Cooling and reserved addresses whose time has come are idle again. */
export function rested(book: AddressBook, nowMs: number): AddressBook {
  if (!book.some((entry) => ends(entry) && entry.atMs <= nowMs)) return book;
  return book.map((entry) => (ends(entry) && entry.atMs <= nowMs ? idle(entry, entry.atMs) : entry));
}

/** When the next cooling or reserved address becomes idle; null when there is none. */
export function nextRestMs(book: AddressBook): number | null {
  let first: number | null = null;
  for (const entry of book) if (ends(entry) && (first === null || entry.atMs < first)) first = entry.atMs;
  return first;
}

/**
 * Promises an address to a request: the one reserved for its pod, else the one idle for longest. With `alsoCooling` the one that has
 * rested longest, if none is idle (a node that cannot grow would otherwise refuse); with `alsoReserved` the one whose reservation ends
 * first, whoever's it is. Null when there is none.
 */
export function offered(
  book: AddressBook,
  request: Holder & { readonly requestId: string },
  alsoCooling: boolean,
  alsoReserved: boolean = false,
): { readonly book: AddressBook; readonly address: Address } | null {
  const entry = chosenFor(book, request.pod, alsoCooling, alsoReserved);
  if (entry === null) return null;
  const { requestId, sandbox, pod } = request;
  const isOwn = entry.state === 'reserved' && entry.pod === pod;
  const back = isOwn ? { reservedUntilMs: entry.atMs } : entry.state === 'idle' ? {} : { before: entry };
  const offer: Entry = { ...entry, state: 'offered', requestId, sandbox, pod, ...back };
  return { address: entry.address, book: put(book, book.indexOf(entry), offer) };
}

/** Which one `offered` would promise. */
export function chosenFor(
  book: AddressBook,
  pod: string,
  alsoCooling: boolean,
  alsoReserved: boolean = false,
): Entry | null {
  return (
    reservedFor(book, pod) ??
    oldest(book, 'idle') ??
    (alsoCooling ? oldest(book, 'cooling') : null) ??
    (alsoReserved ? oldest(book, 'reserved') : null)
  );
}

function oldest(book: AddressBook, state: AddressState): Entry | null {
  let best: Entry | null = null;
  for (const entry of book) if (entry.state === state && (best === null || entry.atMs < best.atMs)) best = entry;
  return best;
}

/** The address that is kept for this pod, of several the one that it had last; null when none is. */
export function reservedFor(book: AddressBook, pod: string): Entry | null {
  return book.reduce<Entry | null>(
    (last, entry) =>
      entry.state === 'reserved' && entry.pod === pod && (last === null || entry.atMs > last.atMs) ? entry : last,
    null,
  );
}

/** The offer is on disk. A request that is unknown changes nothing; an address that the cloud lost meanwhile stays invalid. */
export function bound(book: AddressBook, requestId: string): AddressBook {
  const index = book.findIndex((entry) => entry.requestId === requestId);
  const entry = book[index];
  if (entry === undefined) return book;
  const state = entry.state === 'offered' ? 'bound' : entry.state;
  if (entry.reservedUntilMs === undefined && entry.before === undefined)
    return put(book, index, { ...entry, state, requestId: null });
  const { reservedUntilMs: _, before: __, ...own } = entry;
  return put(book, index, { ...own, state, requestId: null });
}

/**
 * The offer was not wanted after all. Nobody used the address, so it needs no new rest: what was reserved for this pod or for another is
 * so again, and one that had not rested to the end goes on; an invalid one leaves the book.
 */
export function withdrawn(book: AddressBook, requestId: string, nowMs: number): AddressBook {
  return book.flatMap((entry) => {
    if (entry.requestId !== requestId) return [entry];
    if (entry.state !== 'offered') return [];
    if (entry.before !== undefined && entry.before.atMs > nowMs) return [entry.before];
    const { reservedUntilMs: untilMs = 0, before: _, ...offer } = entry;
    return untilMs > nowMs ? [{ ...offer, state: 'reserved', requestId: null, atMs: untilMs }] : [idle(entry, nowMs)];
  });
}

/** The sandbox gave its address back, to rest or to be kept for its pod. An invalid one leaves the book: the cloud has it no more. */
export function freed(
  book: AddressBook,
  ipv4: string,
  coolUntilMs: number,
  reservedUntilMs: number | null = null,
): AddressBook {
  const index = book.findIndex((entry) => entry.address.ipv4 === ipv4);
  const entry = book[index];
  if (entry?.state === 'invalid') return put(book, index, null);
  if (entry?.state !== 'bound') return book;
  const { ownEni: _, ...own } = entry;
  if (reservedUntilMs !== null) return put(book, index, { ...own, state: 'reserved', atMs: reservedUntilMs });
  return put(book, index, { ...idle(entry, coolUntilMs), state: 'cooling' });
}

/** A reservation ends before its time. */
export function shortened(book: AddressBook, ipv4: string, untilMs: number): AddressBook {
  return book.map((entry) =>
    entry.state === 'reserved' && entry.address.ipv4 === ipv4 && untilMs < entry.atMs
      ? { ...entry, atMs: untilMs }
      : entry,
  );
}

/** Marks up to `count` idle secondary addresses as leaving, youngest first: the pool keeps the well rested ones. */
export function leaving(book: AddressBook, count: number): AddressBook {
  const chosen = new Set(
    book
      .filter((entry) => entry.state === 'idle' && !entry.primary)
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, Math.max(0, count)),
  );
  return book.map((entry) => (chosen.has(entry) ? { ...entry, state: 'leaving' } : entry));
}

/** Marks these as leaving, as far as nobody has them. */
export function leavingOf(book: AddressBook, ips: readonly string[]): AddressBook {
  return book.map((entry) => {
    const free = entry.state === 'idle' || entry.state === 'cooling';
    return free && !entry.primary && ips.includes(entry.address.ipv4) ? { ...entry, state: 'leaving' } : entry;
  });
}

/** Idle addresses that `leaving` could choose from. */
export function sheddable(book: AddressBook): number {
  let count = 0;
  for (const { state, primary } of book) if (state === 'idle' && !primary) count += 1;
  return count;
}

export function leavingIps(book: AddressBook): readonly string[] {
  return book.filter((entry) => entry.state === 'leaving').map((entry) => entry.address.ipv4);
}

/** The cloud took them back. */
export function left(book: AddressBook, ips: readonly string[]): AddressBook {
  return book.filter((entry) => !(entry.state === 'leaving' && ips.includes(entry.address.ipv4)));
}

/**
 * Brings the book in line with what the cloud reports, after a call whose outcome is unknown: new addresses are idle, missing ones
 * are gone (with their reservations: nobody uses those), or invalid while somebody holds them. A leaving one that is still there is
 * idle again, unless the call that takes it may arrive yet (`takingYet`): nobody may have it then.
 */
export function reconciled(
  book: AddressBook,
  ips: readonly string[],
  nowMs: number,
  takingYet: boolean = false,
): AddressBook {
  const real = new Set(ips);
  const kept = book.flatMap((entry): Entry[] => {
    const held = entry.state === 'bound' || entry.state === 'offered';
    if (real.has(entry.address.ipv4)) {
      if (entry.state === 'invalid') return [{ ...entry, state: entry.requestId === null ? 'bound' : 'offered' }];
      return [entry.state === 'leaving' && !takingYet ? idle(entry, nowMs) : entry];
    }
    if (held || entry.state === 'invalid') return [{ ...entry, state: 'invalid' }];
    return [];
  });
  const primaryGone = book.some((entry) => entry.primary && !real.has(entry.address.ipv4));
  return primaryGone ? added(kept, ips, nowMs) : withPrimary(added(kept, ips, nowMs), ips[0]);
}

/** An ENI that was first seen while Describe was late may have been seen without its primary address: that is the first reported. */
function withPrimary(book: AddressBook, ipv4: string | undefined): AddressBook {
  return book.map((entry) => {
    const primary = entry.address.ipv4 === ipv4;
    return entry.primary === primary ? entry : { ...entry, primary };
  });
}

/**
 * The book of an ENI whose actor died: promises that nobody knows of any more were kept, or taken back, without the actor hearing of
 * it. They count as bound until the leases are looked at.
 */
export function afterDeath(book: AddressBook, promised: readonly string[]): AddressBook {
  return book.map((entry) =>
    entry.state === 'offered' && !promised.includes(entry.requestId ?? '')
      ? { ...entry, state: 'bound', requestId: null }
      : entry,
  );
}

/** Free addresses that have a lease belong to it: no report of that was heard. */
export function heldBy(book: AddressBook, held: ReadonlyMap<string, Held>): AddressBook {
  return book.map((entry) => {
    const holder = held.get(entry.address.ipv4);
    const free = !['bound', 'offered', 'invalid'].includes(entry.state);
    if (holder === undefined || !free) return entry;
    return { ...entry, ...heldAs(entry.address.ipv4, holder), state: 'bound', requestId: null };
  });
}

export function countsOf(addresses: Iterable<{ readonly state: AddressState }>): Counts {
  const counts: Record<AddressState, number> = {
    idle: 0,
    offered: 0,
    bound: 0,
    cooling: 0,
    reserved: 0,
    leaving: 0,
    invalid: 0,
  };
  for (const entry of addresses) counts[entry.state] += 1;
  return counts;
}

/** Somebody holds or was promised an address here: no detach, no delete. */
export function hasHolders(book: AddressBook): boolean {
  return book.some((entry) => entry.sandbox !== null);
}
