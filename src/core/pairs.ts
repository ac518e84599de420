/**
 * Dual stack: an address is an IPv4/IPv6 pair on one ENI, all or nothing. A pure reducer beside the address book.
 *
 * The cloud gives and takes the families by calls of their own, so one half may be there without the other. Such a half is in no state
 * of the book and serves nobody: it is set aside until a call completes it, or gives it back.
 *
 * The pairing rule has to find the same pairs after a restart wherever somebody may tell: what a lease names belongs together; the
 * others of each family stand in a line, those that rest behind the others by when their rest ends, the ENI's own primary address
 * first, else by their text; and the two lines are paired from their heads. A pair rests as long as either half does.
 */
import { type AddressBook, added, bookOf, type Entry, type Held, idle, leavingOf } from './address-book.ts';

export type Ipv6Half = {
  readonly ip: string;
  /** When its rest ends; 0: it needs none. */
  readonly untilMs: number;
};

/** Addresses of one family that lack the other. One of the first two is always empty. */
export type Halves = {
  /** Idle, and without an IPv6. */
  readonly ipv4: readonly Entry[];
  readonly ipv6: readonly Ipv6Half[];
  /** IPv6 addresses that are to be given back alone; an IPv4 one leaves as an entry of the book. */
  readonly leaving: readonly string[];
  /** IPv6 addresses that a lease which cannot be read may name: nobody gets them, and they stay. */
  readonly heldBack: readonly string[];
};

/** What an ENI owns. */
export type Owned = { readonly book: AddressBook; readonly halves: Halves };

/** The addresses of an ENI as the cloud has them, the primary one first. */
export type Ips = { readonly ipv4: readonly string[]; readonly ipv6: readonly string[] };

export const noHalves: Halves = { ipv4: [], ipv6: [], leaving: [], heldBack: [] };

/** The first book of an ENI that exists. `going`: what an earlier life was about to unassign, of either family. */
export type Beginning = {
  readonly ips: Ips;
  readonly held: ReadonlyMap<string, Held>;
  /** By address, of either family. */
  readonly coolUntilMs: ReadonlyMap<string, number>;
  readonly going: readonly string[];
  readonly heldBack: readonly string[];
  readonly dual: boolean;
  readonly nowMs: number;
};

/** Single stack has no halves: an IPv6 that an ENI has besides is not looked at. */
export function ownedAtFirst({ ips, held, coolUntilMs, going, heldBack, dual, nowMs }: Beginning): Owned {
  const book = bookOf(ips.ipv4, nowMs, held, coolUntilMs);
  if (!dual) return { book: leavingOf(book, going), halves: noHalves };
  const named = new Set([...held.values()].flatMap(({ ipv6 }) => ipv6 ?? []));
  const free = ips.ipv6.filter((ip) => !named.has(ip) && !heldBack.includes(ip));
  const halves: Halves = {
    ipv4: [],
    ipv6: free.filter((ip) => !going.includes(ip)).map((ip) => ({ ip, untilMs: coolUntilMs.get(ip) ?? 0 })),
    leaving: free.filter((ip) => going.includes(ip)),
    heldBack: ips.ipv6.filter((ip) => heldBack.includes(ip)),
  };
  return paired(
    {
      book: leavingOf(
        book.map((entry) => wholeOr(keptWhole(entry, ips), ips)),
        going,
      ),
      halves,
    },
    nowMs,
  );
}

/** Held: invalid once either half is gone, and itself again when both are back. */
function wholeOr(entry: Entry, ips: Ips): Entry {
  const { state, address, requestId } = entry;
  if (!isHeld(entry)) return entry;
  if (!ips.ipv4.includes(address.ipv4) || (address.ipv6 !== null && !ips.ipv6.includes(address.ipv6)))
    return { ...entry, state: 'invalid' };
  return state === 'invalid' ? { ...entry, state: requestId === null ? 'bound' : 'offered' } : entry;
}

/** Nobody uses what is kept for a pod: once it lacks a half it is kept no longer, and only rests. */
function keptWhole(entry: Entry, ips: Ips): Entry {
  const { state, address } = entry;
  const whole = address.ipv6 !== null && ips.ipv6.includes(address.ipv6) && ips.ipv4.includes(address.ipv4);
  if (state !== 'reserved' || whole) return entry;
  const ipv6 = address.ipv6 !== null && ips.ipv6.includes(address.ipv6) ? address.ipv6 : null;
  return { ...idle(entry, entry.atMs), state: 'cooling', address: { ...address, ipv6 } };
}

const isHeld = ({ state }: Entry): boolean => !['idle', 'cooling', 'leaving'].includes(state);

/** Makes what pairs can be made. To be called after whatever may have freed a half. */
export function paired({ book, halves }: Owned, nowMs: number): Owned {
  const restEndMs = (entry: Entry): number => (entry.state === 'cooling' ? entry.atMs : 0);
  const lacking = book.filter(
    ({ state, address }) => address.ipv6 === null && (state === 'idle' || state === 'cooling'),
  );
  if (lacking.length === 0 && (halves.ipv4.length === 0 || halves.ipv6.length === 0)) return { book, halves };
  const first = [...lacking, ...halves.ipv4].sort(
    (a, b) =>
      restEndMs(a) - restEndMs(b) ||
      Number(b.primary) - Number(a.primary) ||
      (a.address.ipv4 < b.address.ipv4 ? -1 : 1),
  );
  const rested = (half: Ipv6Half): number => (half.untilMs > nowMs ? half.untilMs : 0);
  const second = [...halves.ipv6].sort((a, b) => rested(a) - rested(b) || (a.ip < b.ip ? -1 : 1));
  const made = first.slice(0, second.length).map((entry, index): Entry => {
    const { ip, untilMs } = second[index] as Ipv6Half;
    const address = { ipv4: entry.address.ipv4, ipv6: ip };
    const endMs = Math.max(restEndMs(entry), untilMs);
    return endMs > nowMs ? { ...entry, address, state: 'cooling', atMs: endMs } : { ...entry, address };
  });
  const left = first.slice(second.length);
  return {
    book: [
      ...book.filter((entry) => !lacking.includes(entry)),
      ...made,
      // It rests in the book, where its rest ends.
      ...left.filter((entry) => entry.state === 'cooling'),
    ],
    halves: {
      ...halves,
      ipv4: left.filter((entry) => entry.state === 'idle'),
      ipv6: second.slice(first.length),
    },
  };
}

/** Without dual stack no free address keeps the IPv6 that a lease of an earlier life named. */
export function unpaired(book: AddressBook): AddressBook {
  const strays = (entry: Entry): boolean =>
    entry.address.ipv6 !== null && ['idle', 'cooling', 'reserved'].includes(entry.state);
  if (!book.some(strays)) return book;
  return book.map((entry) => (strays(entry) ? { ...entry, address: { ipv4: entry.address.ipv4, ipv6: null } } : entry));
}

/** The cloud assigned these. One that is there already is not added again. */
export function arrived({ book, halves }: Owned, ips: Ips, nowMs: number): Owned {
  const known = knownIps({ book, halves });
  const ipv4 = ips.ipv4.filter((ip) => !known.has(ip));
  const ipv6 = [...new Set(ips.ipv6)].filter((ip) => !known.has(ip)).map((ip) => ({ ip, untilMs: 0 }));
  return paired({ book: added(book, ipv4, nowMs), halves: { ...halves, ipv6: [...halves.ipv6, ...ipv6] } }, nowMs);
}

/** IPv6 addresses that are to leave: those first, so that what leaves is named by its IPv4 to the last. */
export function leavingIpv6({ book, halves }: Owned): readonly string[] {
  const ofPairs = book.flatMap(({ state, address }) => (state === 'leaving' ? (address.ipv6 ?? []) : []));
  return [...ofPairs, ...halves.leaving];
}

/** The cloud took these IPv6 addresses back. */
export function leftIpv6({ book, halves }: Owned, ips: readonly string[]): Owned {
  return {
    book: book.map((entry) =>
      entry.state === 'leaving' && ips.includes(entry.address.ipv6 ?? '')
        ? { ...entry, address: { ...entry.address, ipv6: null } }
        : entry,
    ),
    halves: { ...halves, leaving: halves.leaving.filter((ip) => !ips.includes(ip)) },
  };
}

/** Marks the halves as leaving. The primary address goes only with the ENI, and one that rests not before it has rested. */
export function halvesLeaving({ book, halves }: Owned, nowMs: number): Owned {
  const going = halves.ipv4.filter((entry) => !entry.primary).map((entry): Entry => ({ ...entry, state: 'leaving' }));
  const rests = ({ untilMs }: Ipv6Half): boolean => untilMs > nowMs;
  return {
    book: [...book, ...going],
    halves: {
      ...halves,
      ipv4: halves.ipv4.filter((entry) => entry.primary),
      ipv6: halves.ipv6.filter(rests),
      leaving: [...halves.leaving, ...halves.ipv6.filter((half) => !rests(half)).map(({ ip }) => ip)],
    },
  };
}

/**
 * What an ENI owns once it follows what the cloud reports, as `reconciled` does for a book alone: a pair that nobody holds falls apart
 * into what is left of it. `held`: leases that the book has not heard of.
 */
export function followed(
  own: Owned,
  ips: Ips,
  { nowMs, takingYet, held = new Map() }: { nowMs: number; takingYet: boolean; held?: ReadonlyMap<string, Held> },
): Owned {
  const has4 = new Set(ips.ipv4);
  const has6 = new Set(ips.ipv6);
  const ipv6: Ipv6Half[] = [];
  const leaving: string[] = [];
  const kept = own.book.flatMap((known): Entry[] => {
    const entry = keptWhole(known, ips);
    if (isHeld(entry)) return [wholeOr(entry, ips)];
    const { address, state, atMs } = entry;
    const goes = state === 'leaving' && takingYet;
    const half = address.ipv6 !== null && has6.has(address.ipv6) ? address.ipv6 : null;
    if (has4.has(address.ipv4)) {
      const what = { ...entry, address: { ...address, ipv6: half } };
      return [state === 'leaving' && !takingYet ? { ...what, state: 'idle', atMs: nowMs } : what];
    }
    if (half !== null && goes) leaving.push(half);
    else if (half !== null) ipv6.push({ ip: half, untilMs: state === 'cooling' ? atMs : 0 });
    return [];
  });
  for (const ip of own.halves.leaving)
    if (has6.has(ip)) {
      if (takingYet) leaving.push(ip);
      else ipv6.push({ ip, untilMs: 0 });
    }
  const named = new Set([...held.values()].flatMap((one) => one.ipv6 ?? []));
  const halves: Halves = {
    ipv4: own.halves.ipv4.filter(({ address: { ipv4 } }) => has4.has(ipv4) && !held.has(ipv4)),
    ipv6: [...own.halves.ipv6.filter(({ ip }) => has6.has(ip)), ...ipv6].filter(({ ip }) => !named.has(ip)),
    leaving,
    heldBack: own.halves.heldBack.filter((ip) => has6.has(ip)),
  };
  const primaryWent = [...own.book, ...own.halves.ipv4].some((entry) => entry.primary && !has4.has(entry.address.ipv4));
  const after = arrived({ book: [...kept, ...ofLeases(held, ips, nowMs)], halves }, ips, nowMs);
  return primaryWent ? after : withPrimary(after, ips.ipv4[0]);
}

/** Entries of leases, as they name their addresses. */
function ofLeases(held: ReadonlyMap<string, Held>, ips: Ips, nowMs: number): AddressBook {
  const there = new Map([...held].filter(([ipv4]) => ips.ipv4.includes(ipv4)));
  const entries = bookOf([...there.keys()], nowMs, there).map((entry) => ({ ...entry, primary: false }));
  return entries.map((entry) => wholeOr(entry, ips));
}

/** As in the book alone: the first that is reported, unless the one that was it is missing in the report. */
function withPrimary({ book, halves }: Owned, ipv4: string | undefined): Owned {
  const marked = (entry: Entry): Entry => {
    const primary = entry.address.ipv4 === ipv4;
    return entry.primary === primary ? entry : { ...entry, primary };
  };
  return { book: book.map(marked), halves: { ...halves, ipv4: halves.ipv4.map(marked) } };
}

/** Every address of either family that the ENI is known to have, those of invalid pairs included. */
export function knownIps({ book, halves }: Owned): ReadonlySet<string> {
  return new Set([
    ...book.flatMap(({ address }) => [address.ipv4, ...(address.ipv6 === null ? [] : [address.ipv6])]),
    ...halves.ipv4.map((entry) => entry.address.ipv4),
    ...halves.ipv6.map(({ ip }) => ip),
    ...halves.leaving,
    ...halves.heldBack,
  ]);
}
