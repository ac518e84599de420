import t from 'tap';
import { bound, freed, type Held, leaving, offered, rested } from '../../src/core/address-book.ts';
import {
  arrived,
  followed,
  halvesLeaving,
  type Ips,
  knownIps,
  leavingIpv6,
  leftIpv6,
  noHalves,
  type Owned,
  ownedAtFirst,
  paired,
} from '../../src/core/pairs.ts';
import { Seeded } from '../../src/simulation/seeded.ts';

const ips = (ipv4: readonly string[], ipv6: readonly string[]): Ips => ({ ipv4, ipv6 });
const first = (more: Partial<Parameters<typeof ownedAtFirst>[0]>): Owned =>
  ownedAtFirst({
    ips: ips([], []),
    held: new Map(),
    coolUntilMs: new Map(),
    going: [],
    heldBack: [],
    dual: true,
    nowMs: 0,
    ...more,
  });
const pairsOf = ({ book }: Owned) =>
  book.map(({ address, state }) => `${address.ipv4}+${address.ipv6} ${state}`).sort();
const holder = (ipv6: string | null): Held => ({ sandbox: 'c1/eth0', pod: 'default/a', ipv6 });

t.test(
  'pairs: leases first, then those that rest by when their rest ends, then the primary, then by text',
  async (t) => {
    const own = first({
      ips: ips(['v4-9', 'v4-3', 'v4-2', 'v4-1'], ['v6-4', 'v6-3', 'v6-2', 'v6-1']),
      held: new Map([['v4-2', holder('v6-4')]]),
      coolUntilMs: new Map([
        ['v4-1', 50],
        ['v6-2', 50],
      ]),
    });
    t.strictSame(pairsOf(own), ['v4-1+v6-2 cooling', 'v4-2+v6-4 bound', 'v4-3+v6-3 idle', 'v4-9+v6-1 idle']);
    t.strictSame(own.halves, noHalves);
    t.equal(own.book.find((entry) => entry.primary)?.address.ipv4, 'v4-9');
  },
);

t.test('pairs: a pair rests as long as either half', async (t) => {
  const own = first({ ips: ips(['v4-1'], ['v6-1']), coolUntilMs: new Map([['v6-1', 70]]) });
  t.strictSame(pairsOf(own), ['v4-1+v6-1 cooling']);
  t.equal(own.book[0]?.atMs, 70);
});

t.test('pairs: what lacks its other half is set aside, and completed by what comes', async (t) => {
  const lacking = first({ ips: ips(['v4-1', 'v4-2', 'v4-3'], []) });
  t.strictSame(lacking.book, []);
  t.equal(offered(lacking.book, { sandbox: 's', pod: 'p', requestId: 'r' }, true), null, 'it serves nobody');
  const two = arrived(lacking, ips([], ['v6-1', 'v6-2']), 5);
  t.strictSame(pairsOf(two), ['v4-1+v6-1 idle', 'v4-2+v6-2 idle']);
  t.strictSame(
    two.halves.ipv4.map((entry) => entry.address.ipv4),
    ['v4-3'],
  );
  t.strictSame(arrived(two, ips(['v4-1'], ['v6-1', 'v6-1']), 6), two, 'one that is known is not added again');
  const more = arrived(two, ips([], ['v6-3', 'v6-4']), 7);
  t.strictSame(more.halves.ipv6, [{ ip: 'v6-4', untilMs: 0 }]);
  t.strictSame(pairsOf(more).length, 3);
});

t.test('pairs: a pod of a single-stack life keeps its lease; its address rests, then waits for an IPv6', async (t) => {
  const own = first({ ips: ips(['v4-1'], []), held: new Map([['v4-1', holder(null)]]) });
  t.strictSame(pairsOf(own), ['v4-1+null bound']);
  const resting = paired({ ...own, book: freed(own.book, 'v4-1', 30) }, 10);
  t.strictSame(pairsOf(resting), ['v4-1+null cooling']);
  const done = paired({ ...resting, book: rested(resting.book, 30) }, 30);
  t.strictSame(done.book, []);
  t.equal(done.halves.ipv4.length, 1);
});

t.test('pairs: an address is invalid once either half is gone, and nobody has the rest of it', async (t) => {
  const held = new Map([['v4-1', holder('v6-1')]]);
  for (const there of [ips(['v4-1'], []), ips([], ['v6-1']), ips([], [])]) {
    const own = first({ ips: there, held });
    t.strictSame(pairsOf(own), ['v4-1+v6-1 invalid']);
    t.strictSame(own.halves, noHalves);
    const back = followed(own, ips(['v4-1'], ['v6-1']), { nowMs: 1, takingYet: false });
    t.strictSame(pairsOf(back), ['v4-1+v6-1 bound'], 'it is itself again when both are back');
    const after = { ...own, book: freed(own.book, 'v4-1', 99) };
    t.strictSame(after.book, []);
  }
});

t.test('pairs: an idle pair falls apart into what is left of it', async (t) => {
  const own = first({ ips: ips(['v4-1', 'v4-2'], ['v6-1', 'v6-2']) });
  const apart = followed(own, ips(['v4-1'], ['v6-2']), { nowMs: 1, takingYet: false });
  t.strictSame(pairsOf(apart), ['v4-1+v6-2 idle'], 'which makes a new one');
  const lone = followed(own, ips(['v4-1', 'v4-2'], ['v6-2']), { nowMs: 1, takingYet: false });
  t.strictSame(pairsOf(lone), ['v4-2+v6-2 idle']);
  t.strictSame(
    lone.halves.ipv4.map((entry) => entry.address.ipv4),
    ['v4-1'],
  );
});

t.test('pairs: both halves leave, the IPv6 first; what a lost Unassign may take yet is not paired', async (t) => {
  const own = first({ ips: ips(['v4-1', 'v4-2'], ['v6-1', 'v6-2']) });
  const going = { ...own, book: leaving(own.book, 5) };
  t.strictSame(leavingIpv6(going), ['v6-2'], 'the primary address stays');
  const half = leftIpv6(going, ['v6-2']);
  t.strictSame(pairsOf(half), ['v4-1+v6-1 idle', 'v4-2+null leaving']);
  t.strictSame(leavingIpv6(half), []);
  const unsure = followed(going, ips(['v4-1'], ['v6-1', 'v6-2']), { nowMs: 1, takingYet: true });
  t.strictSame(unsure.halves.leaving, ['v6-2']);
  const restarted = first({ ips: ips(['v4-1', 'v4-2'], ['v6-1', 'v6-2']), going: ['v6-1'] });
  t.strictSame(pairsOf(restarted), ['v4-1+v6-2 idle'], 'after a restart, too');
  t.strictSame(restarted.halves.leaving, ['v6-1']);
  t.strictSame(followed(unsure, ips(['v4-1'], ['v6-1', 'v6-2']), { nowMs: 1, takingYet: false }).halves.ipv6.length, 1);
});

t.test('pairs: halves are given back, but for the primary address', async (t) => {
  const ipv4 = halvesLeaving(first({ ips: ips(['v4-1', 'v4-2'], []) }), 0);
  t.strictSame(pairsOf(ipv4), ['v4-2+null leaving']);
  t.equal(ipv4.halves.ipv4.length, 1);
  const ipv6 = halvesLeaving(first({ ips: ips(['v4-1'], ['v6-1', 'v6-2']) }), 0);
  t.strictSame(leavingIpv6(ipv6), ['v6-2']);
});

t.test('pairs: a half that rests is given back when it has rested, and not before', async (t) => {
  const own = first({ ips: ips(['v4-1'], ['v6-1', 'v6-2']), coolUntilMs: new Map([['v6-2', 70]]) });
  t.strictSame(pairsOf(own), ['v4-1+v6-1 idle']);
  const early = halvesLeaving(own, 69);
  t.strictSame(leavingIpv6(early), []);
  t.strictSame(early.halves.ipv6, [{ ip: 'v6-2', untilMs: 70 }], 'it is known all the while');
  t.strictSame(leavingIpv6(halvesLeaving(early, 70)), ['v6-2']);
});

t.test('pairs: an IPv6 that a lease which cannot be read may name is nobody’s', async (t) => {
  const own = first({ ips: ips(['v4-1'], ['v6-1', 'v6-2']), heldBack: ['v6-1'] });
  t.strictSame(pairsOf(own), ['v4-1+v6-2 idle']);
  const later = arrived(halvesLeaving(own, 0), ips(['v4-2'], []), 1);
  t.strictSame(later.halves.heldBack, ['v6-1']);
  t.strictSame(leavingIpv6(later), []);
});

t.test('pairs: in single stack the IPv6 addresses of an ENI are nobody’s business', async (t) => {
  const own = first({ ips: ips(['v4-1'], ['v6-1']), dual: false });
  t.strictSame(pairsOf(own), ['v4-1+null idle']);
  t.strictSame(own.halves, noHalves);
});

t.test(
  'pairs: whatever the cloud reports, all of it is known, nothing twice, and no two halves could be a pair',
  async (t) => {
    for (let seed = 0; seed < 200; seed += 1) {
      const chance = new Seeded(seed, 'pairs');
      const some = (family: string) =>
        Array.from({ length: 6 }, (_, n) => `${family}-${n}`).filter(() => chance.chance(0.6));
      let own = first({ ips: ips(some('v4'), some('v6')) });
      for (let step = 0; step < 12; step += 1) {
        const nowMs = step * 10;
        const { book } = own;
        const held = book.find((entry) => entry.state === 'bound');
        const offer = offered(book, { sandbox: `s${step}`, pod: 'p', requestId: `r${step}` }, true);
        if (chance.chance(0.4) && offer !== null) own = { ...own, book: bound(offer.book, `r${step}`) };
        else if (chance.chance(0.5) && held !== undefined)
          own = paired({ ...own, book: freed(book, held.address.ipv4, nowMs + 15) }, nowMs);
        else if (chance.chance(0.3)) own = halvesLeaving({ ...own, book: leaving(book, 1) }, nowMs);
        else own = paired({ ...own, book: rested(own.book, nowMs) }, nowMs);
        const there = ips(some('v4'), some('v6'));
        own = followed(own, there, { nowMs, takingYet: chance.chance(0.3) });
        const all = [...own.book.flatMap(({ address }) => [address.ipv4, ...(address.ipv6 ?? '').split(' ')])].filter(
          Boolean,
        );
        const lone = [
          ...own.halves.ipv4.map((entry) => entry.address.ipv4),
          ...own.halves.ipv6.map(({ ip }) => ip),
          ...own.halves.leaving,
        ];
        const count = all.length + lone.length;
        if (new Set([...all, ...lone]).size !== count) t.fail(`seed ${seed}: something is there twice`);
        if (own.halves.ipv4.length > 0 && own.halves.ipv6.length > 0) t.fail(`seed ${seed}: halves could be a pair`);
        for (const ip of [...there.ipv4, ...there.ipv6])
          if (!knownIps(own).has(ip)) t.fail(`seed ${seed}: ${ip} unknown`);
        if (own.book.some(({ state, address }) => state === 'offered' && address.ipv6 === null))
          t.fail(`seed ${seed}: half`);
      }
    }
    t.pass('200 seeds');
  },
);
