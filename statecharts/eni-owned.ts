/**
 * What an ENI owns and lacks, in single and in dual stack: the pure questions about it that the ENI's chart asks.
 *
 * In single stack there are no halves, and an ENI's IPv6 addresses are not looked at.
 */
import {
  type AddressBook,
  added,
  type Counts,
  chosenFor,
  countsOf,
  type Entry,
  type Held,
  heldBy,
  leavingIps,
  offered,
  reconciled,
  reservedFor,
} from '../src/core/address-book.ts';
import type { CloudEni } from '../src/core/eni.ts';
import { isTaken, isWhole, offeredWhole } from '../src/core/own-eni.ts';
import {
  arrived,
  followed,
  halvesLeaving,
  type Ips,
  knownIps,
  leavingIpv6,
  type Owned,
  ownedAtFirst,
  paired,
  unpaired,
} from '../src/core/pairs.ts';
import { ASSIGN_MAX } from '../src/core/settings.ts';

/** The Assign under way, or the last one: so many of a family. The same call is made again as it was. */
export type Asking = { readonly family: 4 | 6; readonly count: number };

/** Of an ENI's context what tells of its addresses. */
export type Owner = Owned & {
  readonly eniId: string | null;
  readonly ours: boolean;
  readonly limit: number;
  readonly dual: boolean;
  readonly queue: readonly { readonly pod: string; readonly ownEni?: true }[];
  readonly growBy: number;
  readonly arriving: number;
  readonly asking: Asking;
  readonly takingYet: boolean;
  readonly nowMs: number;
};

/**
 * What rests without its other half serves nobody when its rest is over: for the factory it is on its way out, as is an IPv6 that is
 * given back alone. One that is held back keeps its ENI as an invalid address does.
 */
export function countsIn({ book, halves, dual }: Owner): Counts {
  const counts = countsOf(book);
  if (!dual) return counts;
  const lacking = book.filter(({ state, address }) => state === 'cooling' && address.ipv6 === null).length;
  return {
    ...counts,
    cooling: counts.cooling - lacking,
    leaving: counts.leaving + lacking + halves.leaving.length,
    invalid: counts.invalid + halves.heldBack.length,
  };
}

/** Some address is to be given back. */
export function wantsToLeave(own: Owned): boolean {
  return leavingIps(own.book).length > 0 || own.halves.leaving.length > 0;
}

/** What is to be given back next, of one family. Ordered so that a pair is named by its IPv4 to the last. */
export function nextToLeave(own: Owned): { readonly family: 4 | 6; readonly ips: readonly string[] } {
  const ipv6 = leavingIpv6(own);
  return ipv6.length > 0
    ? { family: 6, ips: ipv6.slice(0, ASSIGN_MAX) }
    : { family: 4, ips: leavingIps(own.book).slice(0, ASSIGN_MAX) };
}

/** The book is this now; in dual stack whatever lacks its other half is paired or set aside. */
export function owning({ dual, halves }: Owner, book: AddressBook, nowMs: number): Owned {
  return dual ? paired({ book, halves }, nowMs) : { book: unpaired(book), halves };
}

/** An Assign brought these of the family that was asked for. `arriving` are the addresses that lack something yet. */
export function afterAssign(context: Owner, ips: readonly string[], atMs: number): Owned & { arriving: number } {
  const { dual, asking, arriving, book, halves } = context;
  if (!dual) return { book: added(book, ips, atMs), halves, arriving: 0 };
  const own = arrived(context, { ipv4: asking.family === 4 ? ips : [], ipv6: asking.family === 6 ? ips : [] }, atMs);
  return { ...own, arriving: Math.max(0, arriving - (own.book.length - book.length)) };
}

/** What a Create has made. Whatever it lacks of one family is asked for as soon as that can be done. */
export function afterCreate({ dual, growBy }: Owner, ips: Ips, nowMs: number): Owned & { growBy: number } {
  const nothing = { held: new Map(), coolUntilMs: new Map(), going: [], heldBack: [] };
  const own = ownedAtFirst({ ...nothing, ips, dual, nowMs });
  return { ...own, growBy: growBy + own.halves.ipv4.length };
}

/** What is owned now that the cloud has reported. `held`: leases that the book has not heard of. */
export function afterReport(
  context: Owner,
  ips: Ips,
  nowMs: number,
  held: ReadonlyMap<string, Held> = new Map(),
): Owned {
  const { book, halves, takingYet, dual } = context;
  if (dual) return followed(context, ips, { nowMs, takingYet, held });
  return { book: unpaired(heldBy(reconciled(book, ips.ipv4, nowMs, takingYet), held)), halves };
}

/**
 * What is left to an ENI once others have these. Its primary address comes first, as the cloud reports it; what is on its way out stays, since its
 * Unassign may be under way, and others may well have it before that is answered.
 */
export function ownBut({ dual, book, halves }: Owner, moved: readonly string[]): Ips {
  const sound = book.filter(({ state }) => state !== 'invalid');
  const stays = (ip: string): boolean => !moved.includes(ip);
  const [going, here] = [sound.filter(isGoing), sound.filter((entry) => !isGoing(entry))];
  const ipv4 = [...here, ...halves.ipv4].sort((a, b) => Number(b.primary) - Number(a.primary));
  const ipv6 = [...here.flatMap(({ address }) => address.ipv6 ?? []), ...halves.ipv6.map(({ ip }) => ip)];
  const leaving = [...going.flatMap(({ address }) => address.ipv6 ?? []), ...halves.leaving];
  return {
    ipv4: [...ipv4.map(({ address }) => address.ipv4).filter(stays), ...going.map(({ address }) => address.ipv4)],
    ipv6: dual ? [...[...ipv6, ...halves.heldBack].filter(stays), ...leaving] : [],
  };
}

const isGoing = ({ state }: Entry): boolean => state === 'leaving';

/** Somebody took these away, and they are on another ENI by now. */
export function afterMove(context: Owner, moved: readonly string[], nowMs: number): Owned {
  return afterReport({ ...context, takingYet: true }, ownBut(context, moved), nowMs);
}

export function ownsAny(context: Owner, ips: readonly string[]): boolean {
  const [all, left] = [ownBut(context, []), ownBut(context, ips)];
  return left.ipv4.length + left.ipv6.length < all.ipv4.length + all.ipv6.length;
}

/** Halves are left over and have rested, and nobody wants the address that they could be of. The primary one's can only be completed. */
export function isUneven({ halves, ours, limit, book }: Owner, nowMs: number): boolean {
  const primary = halves.ipv4.some((entry) => entry.primary);
  if (primary && book.length + halves.leaving.length + halves.heldBack.length < limit) return true;
  return ours && (halves.ipv6.some(({ untilMs }) => untilMs <= nowMs) || halves.ipv4.some((entry) => !entry.primary));
}

/** They are given back, but for an ENI's primary address, which is completed: it goes only with its ENI. */
export function evened(context: Owner, nowMs: number): Owned & { growBy: number } {
  const { book, halves, ours, growBy } = context;
  const primary = halves.ipv4.filter((entry) => entry.primary).length;
  return { ...(ours ? halvesLeaving(context, nowMs) : { book, halves }), growBy: growBy + primary };
}

/** Requests that wait for an address; not those that wait for one that is kept for them. */
export function queueLength({ book, queue }: Pick<Owner, 'book' | 'queue'>): number {
  return queue.filter(({ pod }) => reservedFor(book, pod) === null).length;
}

/** Addresses the next Assign should ask for: those of `growBy` serve the queue too, and the pool asks again for what it lacks. */
export function wanted({ book, halves, queue, growBy, limit }: Owner): number {
  // A pod that has the ENI for itself, or waits for that, needs the primary one alone.
  if (isTaken(book) || (queue.some((one) => one.ownEni === true) && book.length > 0)) return 0;
  const { idle } = countsOf(book);
  const missing = Math.max(queueLength({ book, queue }) - idle, growBy);
  const taken = book.length + halves.leaving.length + halves.heldBack.length;
  return Math.max(0, Math.min(missing, limit - taken, ASSIGN_MAX));
}

/** The first call for so many addresses. Halves that are there already are completed before others are asked for. */
export function askFirst({ dual, halves }: Owner, count: number): Asking {
  if (!dual) return { family: 4, count };
  const { length } = halves.ipv4;
  return length >= count ? { family: 6, count } : { family: 4, count: count - length };
}

/** The other half of what has come, in dual stack; null when nothing is to be asked for. */
export function askNext({ asking, arriving, halves }: Owner): Asking | null {
  const count = Math.min(arriving, halves.ipv4.length);
  return asking.family === 4 && count > 0 ? { family: 6, count } : null;
}

/** A pod has it for itself, or is about to: nobody else is served. */
export function isOwn({ book, queue }: Pick<Owner, 'book' | 'queue'>): boolean {
  return isTaken(book) || queue.some((one) => one.ownEni === true);
}

/** The ENI as a whole, for one pod. What is of no use beside it leaves. Null while that cannot be. */
export function offeredAll(own: Owner, request: Parameters<typeof offered>[1]) {
  const { dual, book, ours, arriving, halves } = own;
  const primary = book.find((entry) => entry.primary);
  const isHalf = dual && primary?.address.ipv6 === null;
  if (isHalf || arriving > 0 || halves.leaving.length + halves.heldBack.length > 0) return null;
  if (!ours && book.length > 1) return null;
  const offer = isWhole(book) ? offeredWhole(book, request) : null;
  if (offer === null) return null;
  const left = { ...own, book: offer.book };
  // Halves that others have assigned stay: nobody is served from them as long as the pod has the ENI.
  return { address: offer.address, ...(ours ? halvesLeaving(left, own.nowMs) : { book: left.book, halves }) };
}

/** Whether `offeredFrom` would promise one. */
export function hasFor(
  { dual, book }: Owner,
  pod: string,
  alsoCooling: boolean,
  alsoReserved: boolean = false,
): boolean {
  const whole = dual ? book.filter((entry) => !isHalfCooling(entry)) : book;
  return chosenFor(whole, pod, alsoCooling, alsoReserved) !== null;
}

const isHalfCooling = ({ state, address }: Entry): boolean => state === 'cooling' && address.ipv6 === null;

/** Promises an address, as `offered` does for a book alone: one that lacks its other half is never promised. */
export function offeredFrom(
  { dual, book }: Owner,
  request: Parameters<typeof offered>[1],
  alsoCooling: boolean,
  alsoReserved: boolean = false,
) {
  const lacking = dual ? book.filter(isHalfCooling) : [];
  if (lacking.length === 0) return offered(book, request, alsoCooling, alsoReserved);
  const offer = offered(
    book.filter((entry) => !lacking.includes(entry)),
    request,
    alsoCooling,
    alsoReserved,
  );
  return offer === null ? null : { ...offer, book: [...offer.book, ...lacking] };
}

/** What the cloud's report says that the book does not; null when they agree. Equal differences have equal texts. */
export function differenceOf(context: Owner, eni: CloudEni | null): string | null {
  if (eni === null) return 'unknown';
  if (eni.status !== 'InUse') return eni.status;
  const all = ofStack(context, eni);
  const broken = context.book.filter((entry) => entry.state === 'invalid');
  const lost = broken.flatMap((entry) => ofEntry(context, entry));
  // What is left of an invalid address is its holder's; one that is whole again is news.
  const partly = broken.filter((entry) => !ofEntry(context, entry).every((ip) => all.includes(ip)));
  const holders = partly.flatMap((entry) => ofEntry(context, entry));
  const owned = ownIps(context).filter((ip) => !lost.includes(ip));
  const [real, known] = [
    all
      .filter((ip) => !holders.includes(ip))
      .sort()
      .join(),
    owned.sort().join(),
  ];
  return real === known ? null : real;
}

/** Addresses that are not as the book has them: gone under a pod, gone while nobody had them, there unknown to us. */
export type Strange = {
  readonly eniId: string;
  readonly lost: readonly { readonly ip: string; readonly pod: string | null }[];
  readonly missing: readonly string[];
  readonly unknown: readonly string[];
};

export function strangeIn(context: Owner, ips: Ips): Strange {
  const all = ofStack(context, ips);
  const valid = context.book.filter((entry) => entry.state !== 'invalid');
  const gone = (entry: Entry): string[] => ofEntry(context, entry).filter((ip) => !all.includes(ip));
  const held = valid.filter((entry) => entry.sandbox !== null);
  const ofHeld = held.flatMap((entry) => ofEntry(context, entry));
  const known = ownIps(context);
  const broken = context.book.filter((entry) => entry.state === 'invalid').flatMap((entry) => ofEntry(context, entry));
  return {
    eniId: context.eniId ?? '',
    lost: held.flatMap((entry) => gone(entry).map((ip) => ({ ip, pod: entry.pod }))),
    missing: known.filter((ip) => !all.includes(ip) && !ofHeld.includes(ip) && !broken.includes(ip)),
    unknown: all.filter((ip) => !known.includes(ip)),
  };
}

/** Addresses of the families that we manage. */
const ofStack = ({ dual }: Owner, ips: Ips): string[] => (dual ? [...ips.ipv4, ...ips.ipv6] : [...ips.ipv4]);

function ofEntry({ dual }: Owner, { address }: Entry): string[] {
  return dual && address.ipv6 !== null ? [address.ipv4, address.ipv6] : [address.ipv4];
}

/** Every address that the ENI is known to own, those of invalid entries included. */
function ownIps(context: Owner): string[] {
  return context.dual ? [...knownIps(context)] : context.book.map((entry) => entry.address.ipv4);
}

/** Whether the addresses that were to leave are gone, some of them. */
export function someLeft(context: Owner, ips: Ips): boolean {
  const all = ofStack(context, ips);
  const going = [...leavingIps(context.book), ...(context.dual ? leavingIpv6(context) : [])];
  return going.some((ip) => !all.includes(ip));
}
