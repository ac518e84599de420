/**
 * Looks at the books of one life's ENI actors whenever one has changed.
 *
 * Invariants 1, 2, 3, 5 and 7 as far as a book alone, or a book and the witness, can tell.
 */
import type { AnyActorRef, SnapshotFrom } from 'xstate';
import type { AddressBook, Entry } from '../core/address-book.ts';
import { sandboxKey } from '../core/sandbox.ts';
import type { eniMachine } from '../../statecharts/eni.ts';
import type { Report } from './violation.ts';
import type { Witness } from './witness.ts';

type EniSnapshot = SnapshotFrom<typeof eniMachine>;
type Seen = { readonly ref: AnyActorRef; book: AddressBook };

export class BookWatch {
  readonly #witness: Witness;
  readonly #report: Report;
  readonly #seen = new Map<string, Seen>();
  /** Addresses offered although they had not rested. */
  readonly coolingOffered = new Set<string>();

  constructor(witness: Witness, report: Report) {
    this.#witness = witness;
    this.#report = report;
  }

  /** A new ENI actor; a slot's number is never used twice in a life. */
  note(ref: AnyActorRef): void {
    this.#seen.set(ref.id, { ref, book: [] });
  }

  /** The ENI actors that live. */
  get enis(): readonly EniSnapshot[] {
    const snapshots = [...this.#seen.values()].map(({ ref }) => ref.getSnapshot() as EniSnapshot);
    return snapshots.filter((snapshot) => snapshot.status === 'active');
  }

  check(node: number, coolDownMs: number): void {
    let idle: number | null = null;
    for (const [id, seen] of this.#seen) {
      const { context, status } = seen.ref.getSnapshot() as EniSnapshot;
      if (status !== 'active') {
        this.#seen.delete(id);
        continue;
      }
      const { book } = context;
      if (book === seen.book) continue;
      const before = new Map(seen.book.map((entry) => [entry.address.ipv4, entry]));
      for (const entry of book) {
        const was = before.get(entry.address.ipv4);
        if (was === entry) continue;
        this.#entry(node, id, entry);
        if (was?.state === 'cooling' && entry.state === 'offered' && coolDownMs > 0) {
          idle ??= this.#idle();
          this.#witness.checks += 1;
          if (idle > 0)
            this.#report('3', `${id} offered ${entry.address.ipv4}, which cools, while ${idle} addresses are idle`);
          this.coolingOffered.add(entry.address.ipv4);
        }
      }
      this.#whole(id, context);
      seen.book = book;
    }
  }

  #entry(node: number, id: string, { address, state, sandbox }: Entry): void {
    this.#witness.checks += 1;
    const ip = address.ipv4;
    const holding = this.#witness.held.get(ip);
    if (holding === undefined || this.#witness.touched.has(holding.eniId)) return;
    const holder = sandboxKey({ containerId: holding.container, ifName: 'eth0' });
    if (holding.node !== node || sandbox !== holder)
      this.#report('1', `${id} has ${ip} as ${state} of ${sandbox ?? 'nobody'}, but ${holder} was told it`);
  }

  #whole(id: string, { book, limit, eniId }: EniSnapshot['context']): void {
    this.#witness.checks += 2;
    if (new Set(book.map((entry) => entry.address.ipv4)).size !== book.length)
      this.#report('7', `${id} has an address twice in its book`);
    const owned = book.filter((entry) => entry.state !== 'invalid').length;
    if (owned > limit && !this.#witness.touched.has(eniId ?? ''))
      this.#report('5', `${id} owns ${owned} addresses of ${limit}`);
  }

  #idle(): number {
    const inUse = this.enis.filter((eni) => eni.matches('inUse'));
    return inUse.reduce((sum, { context }) => sum + context.book.filter((entry) => entry.state === 'idle').length, 0);
  }
}
