/**
 * Looks at the books of one life's ENI actors at every step of every actor: two things at one instant are still two.
 *
 * Invariants 1, 2, 3, 5 and 7 as far as a book alone, or a book and the witness, can tell.
 */
import type { AnyActorRef, SnapshotFrom } from 'xstate';
import type { eniMachine } from '../../statecharts/eni.ts';
import { halvesOf } from '../core/address.ts';
import type { AddressBook, Entry } from '../core/address-book.ts';
import { isHeldBackFor } from '../core/held-back.ts';
import { type Halves, noHalves } from '../core/pairs.ts';
import { sandboxKey } from '../core/sandbox.ts';
import type { Report } from './violation.ts';
import type { Witness } from './witness.ts';

export type EniSnapshot = SnapshotFrom<typeof eniMachine>;
type Seen = { readonly ref: AnyActorRef; book: AddressBook; halves: Halves };

/** What of the node the looks at its books have to know. */
export type BooksOwner = {
  /** Addresses that nobody has been sent for: one that is on its way to a request is idle in the book until it is heard of. */
  idle(): number;
  /** Its books are from memory: an ENI may have no more than it is known to have, whatever is found there later. */
  isDegraded(): boolean;
};

export class BookWatch {
  readonly #witness: Witness;
  readonly #report: Report;
  readonly #owner: BooksOwner;
  readonly #seen = new Map<string, Seen>();
  readonly #sinceMs: number;
  /** Addresses offered although they had not rested. */
  readonly coolingOffered: Set<string>;

  constructor(witness: Witness, report: Report, coolingOffered: Set<string>, owner: BooksOwner, sinceMs: number) {
    this.#sinceMs = sinceMs;
    this.#owner = owner;
    this.coolingOffered = coolingOffered;
    this.#witness = witness;
    this.#report = report;
  }

  /** A new ENI actor; a slot's number is never used twice in a life. */
  note(ref: AnyActorRef): void {
    this.#seen.set(ref.id, { ref, book: [], halves: noHalves });
  }

  /** The ENI actors that live. */
  get enis(): readonly EniSnapshot[] {
    const snapshots = [...this.#seen.values()].map(({ ref }) => ref.getSnapshot() as EniSnapshot);
    return snapshots.filter((snapshot) => snapshot.status === 'active');
  }

  /** One step of an ENI actor, before anybody hears of it. */
  observe(ref: AnyActorRef, { context }: EniSnapshot, node: number, nowMs: number): void {
    const seen = this.#seen.get(ref.id);
    const { book, halves } = context;
    if (seen === undefined || (seen.book === book && seen.halves === halves)) return;
    const before = new Map(seen.book.map((entry) => [entry.address.ipv4, entry]));
    seen.book = book;
    seen.halves = halves;
    for (const entry of book) {
      const was = before.get(entry.address.ipv4);
      if (was === entry) continue;
      if (entry.state !== 'invalid' || !this.#witness.touched.has(context.eniId ?? ''))
        this.#entry(node, ref.id, context.eniId, entry);
      if (context.dual && entry.state === 'offered' && entry.address.ipv6 === null)
        this.#report('7', `${ref.id} promises ${entry.address.ipv4}, which lacks its IPv6`);
      if (was?.state === 'reserved' && was.atMs > nowMs && entry.state === 'offered' && was.pod !== entry.pod)
        this.#yieldedOffer(ref, entry);
      if (was?.state === 'cooling' && was.atMs > nowMs && entry.state === 'offered') this.#coolingOffer(ref, entry);
    }
    this.#keeps(ref.id, before, context);
    this.#whole(ref.id, context);
  }

  /** Invariant 3: only when no address is idle anywhere. That the node cannot grow either is for placement's own tests. */
  #coolingOffer(ref: AnyActorRef, { address }: Entry): void {
    this.#witness.checks += 1;
    const idle = this.#owner.idle();
    if (idle > 0) this.#report('3', `${ref.id} offered ${address.ipv4}, which cools, while ${idle} addresses are idle`);
    this.coolingOffered.add(address.ipv4);
  }

  /** A reservation yields only to a request that would have nothing else. */
  #yieldedOffer(ref: AnyActorRef, { address }: Entry): void {
    this.#witness.checks += 1;
    this.coolingOffered.add(address.ipv4);
    const free = this.#owner.idle();
    if (free > 0) this.#report('kept', `${ref.id} gave away ${address.ipv4}, which is kept, while ${free} are idle`);
  }

  /** Invariant 3, its other side: a rest ends. ENIs with no device, or on their way out, may let it wait. */
  checkRests(beforeMs: number): void {
    for (const eni of this.enis) {
      if (!eni.matches('inUse')) continue;
      this.#witness.checks += 1;
      const late = eni.context.book.find(
        ({ state, atMs }) => (state === 'cooling' || state === 'reserved') && atMs < beforeMs,
      );
      if (late !== undefined)
        this.#report(
          '3',
          `${late.address.ipv4} should have rested ${beforeMs - late.atMs} ms ago and is still cooling`,
        );
    }
  }

  /**
   * Invariant 7: what an answer of this life has told of is not taken for gone while the cloud has it, whatever a Describe of before
   * shows. What a life finds as it starts it knows from Describe alone, which may be late about it.
   */
  #keeps(id: string, before: ReadonlyMap<string, Entry>, { book, halves, eniId }: EniSnapshot['context']): void {
    const isThere = (ip: string): boolean => this.#witness.isThere(ip, eniId, this.#sinceMs);
    const now = new Map([...book, ...halves.ipv4].map((entry) => [entry.address.ipv4, entry]));
    for (const [ipv4, was] of before) {
      const entry = now.get(ipv4);
      if (entry === was || was.state === 'invalid' || was.state === 'leaving') continue;
      this.#witness.checks += 1;
      if (entry === undefined && isThere(ipv4)) this.#report('7', `${id} forgets ${ipv4}, which the cloud has there`);
      if (entry?.state === 'invalid' && halvesOf(entry.address).every(isThere))
        this.#report('7', `${id} takes ${ipv4} for gone, which the cloud has there`);
    }
  }

  #entry(node: number, id: string, eniId: string | null, { address, state, sandbox }: Entry): void {
    for (const ip of halvesOf(address)) {
      this.#witness.checks += 1;
      const holding = this.#witness.held.get(ip);
      if (holding === undefined || this.#witness.touched.has(holding.eniId)) continue;
      // An Unassign whose answer was lost was carried out, and another ENI has it by now: here it is served to nobody.
      if (state === 'leaving' && sandbox === null && holding.eniId !== eniId) continue;
      const holder = sandboxKey({ containerId: holding.container, ifName: 'eth0' });
      // Whose it is the record told that was lost: it is kept from everybody.
      if (holding.node === node && isHeldBackFor(sandbox)) continue;
      if (holding.node !== node || sandbox !== holder)
        this.#report('1', `${id} has ${ip} as ${state} of ${sandbox ?? 'nobody'}, but ${holder} was told it`);
    }
  }

  #whole(id: string, { book, halves, limit, eniId, dual }: EniSnapshot['context']): void {
    this.#witness.checks += 2;
    const lone = [...halves.ipv4.map((entry) => entry.address.ipv4), ...halves.ipv6.map(({ ip }) => ip)];
    const all = [...book.flatMap(({ address }) => halvesOf(address)), ...lone, ...halves.leaving, ...halves.heldBack];
    if (new Set(all).size !== all.length) this.#report('7', `${id} has an address twice in its book`);
    if (halves.ipv4.length > 0 && halves.ipv6.length > 0) this.#report('7', `${id} has halves that would make a pair`);
    for (const ip of [...lone, ...halves.leaving]) {
      const holding = this.#witness.held.get(ip);
      if (holding !== undefined && !this.#witness.touched.has(holding.eniId))
        this.#report('1', `${id} has ${ip} as nobody's half, but ${holding.container} was told it`);
    }
    // What an earlier life gave out in single stack may be more than there can be pairs.
    const owned = book.filter((entry) => entry.state !== 'invalid' && (!dual || entry.address.ipv6 !== null)).length;
    if (owned > limit && !this.#witness.touched.has(eniId ?? '') && !this.#owner.isDegraded())
      this.#report('5', `${id} owns ${owned} addresses of ${limit}`);
  }
}
