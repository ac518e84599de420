import t from 'tap';
import type { AddressBook, AddressState } from '../../src/core/address-book.ts';
import * as book from '../../src/core/address-book.ts';

const holder = (name: string) => ({ sandbox: `c-${name}/eth0`, pod: `default/${name}` });
const request = (name: string) => ({ ...holder(name), requestId: `r-${name}` });
const states = (of: AddressBook) => Object.fromEntries(of.map((entry) => [entry.address.ipv4, entry.state]));

/** One address in each state; `.1` is the primary one. */
function oneOfEach(): AddressBook {
  const start = book.bookOf(
    ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5'],
    100,
    new Map([
      ['10.0.0.2', holder('bound')],
      ['10.0.0.9', holder('invalid')],
    ]),
    new Map([['10.0.0.3', 500]]),
  );
  const [one, two, three, four, five, nine] = start;
  if (!one || !two || !three || !four || !five || !nine) throw new Error('six entries');
  return [
    one,
    two,
    three,
    { ...four, state: 'offered', ...request('offered') },
    { ...five, state: 'leaving' },
    nine,
    { ...five, address: { ipv4: '10.0.0.6', ipv6: null }, state: 'reserved', ...holder('reserved'), atMs: 5_000 },
  ];
}

t.test(
  'addressBook: an adopted ENI has what is held bound, what rests cooling, what is gone invalid, the rest idle',
  async (t) => {
    const of = oneOfEach();
    t.same(states(of), {
      '10.0.0.1': 'idle',
      '10.0.0.2': 'bound',
      '10.0.0.3': 'cooling',
      '10.0.0.4': 'offered',
      '10.0.0.5': 'leaving',
      '10.0.0.6': 'reserved',
      '10.0.0.9': 'invalid',
    });
    t.same(book.countsOf(of), { idle: 1, offered: 1, bound: 1, cooling: 1, reserved: 1, leaving: 1, invalid: 1 });
    t.ok(of[0]?.primary);
    t.equal(of.filter((entry) => entry.primary).length, 1);
    t.ok(book.hasHolders(of));
    const rested = book.bookOf(['10.0.0.1'], 600, new Map(), new Map([['10.0.0.1', 500]]));
    t.equal(rested[0]?.state, 'idle', 'a rest that is over');
  },
);

t.test('addressBook: the seven states add up to what is owned, whatever is done', async (t) => {
  const all = (of: AddressBook) => Object.values(book.countsOf(of)).reduce((sum, count) => sum + count, 0);
  const of = oneOfEach();
  for (const [name, after] of Object.entries({
    added: book.added(of, ['10.0.0.7', '10.0.0.7', '10.0.0.2'], 100),
    rested: book.rested(of, 1_000),
    freed: book.freed(of, '10.0.0.2', 900),
    leaving: book.leaving(of, 9),
    reconciled: book.reconciled(of, ['10.0.0.1', '10.0.0.8'], 100),
  })) {
    t.equal(all(after), after.length, name);
    t.equal(new Set(after.map((entry) => entry.address.ipv4)).size, after.length, `${name}: no address twice`);
  }
  t.same(of, oneOfEach(), 'a book is never changed in place');
});

t.test(
  'addressBook: the longest idle address goes first; a cooling one only when asked for, the best rested first',
  async (t) => {
    let of = book.bookOf(
      ['10.0.0.1', '10.0.0.2', '10.0.0.3'],
      0,
      new Map(),
      new Map([
        ['10.0.0.2', 70],
        ['10.0.0.3', 60],
      ]),
    );
    const first = book.offered(of, request('a'), false);
    t.equal(first?.address.ipv4, '10.0.0.1');
    of = first?.book ?? of;
    t.equal(book.offered(of, request('b'), false), null, 'cooling ones rest');
    t.equal(book.offered(of, request('b'), true)?.address.ipv4, '10.0.0.3');
    const idle = book.added(book.withdrawn(of, 'r-a', 50), ['10.0.0.9'], 20);
    t.equal(book.offered(idle, request('c'), true)?.address.ipv4, '10.0.0.9', 'idle since 20 before idle since 50');
  },
);

t.test(
  'addressBook: an offer that comes to nothing leaves a rest, and what is kept for another pod, as they were',
  (t) => {
    const request = { requestId: 'r-a', sandbox: 'c-a/eth0', pod: 'default/a' };
    const cooling = book.bookOf(['10.0.0.4'], 0, new Map(), new Map([['10.0.0.4', 900]]));
    const offer = book.offered(cooling, request, true)?.book ?? [];
    t.match(offer, [{ state: 'offered', sandbox: 'c-a/eth0' }]);
    t.same(book.withdrawn(offer, 'r-a', 500), cooling, 'it rests on');
    t.match(book.withdrawn(offer, 'r-a', 901), [{ state: 'idle', atMs: 901 }], 'its rest is over meanwhile');
    const bound = book.bound(offer, 'r-a');
    t.match(bound, [{ state: 'bound' }]);
    t.notOk('before' in (bound[0] ?? {}), 'what is bound was nothing before');

    const held = new Map([['10.0.0.4', { sandbox: 'c-set/eth0', pod: 'default/set-0', reservedUntilMs: 900 }]]);
    const kept = book.bookOf(['10.0.0.4'], 0, held);
    t.match(kept, [{ state: 'reserved', atMs: 900 }]);
    const yielded = book.offered(kept, request, false, true)?.book ?? [];
    t.match(yielded, [{ state: 'offered', pod: 'default/a' }]);
    t.same(book.withdrawn(yielded, 'r-a', 500), kept, 'it is kept as before');
    t.end();
  },
);

t.test('addressBook: an offer is bound or withdrawn by its own request alone', async (t) => {
  const of = book.offered(book.bookOf(['10.0.0.1', '10.0.0.2'], 0), request('a'), false)?.book ?? [];
  t.same(book.bound(of, 'r-b'), of);
  t.same(book.withdrawn(of, 'r-b', 1), of);
  const bound = book.bound(of, 'r-a');
  t.match(bound[0], { state: 'bound', sandbox: 'c-a/eth0', requestId: null });
  t.same(book.withdrawn(bound, 'r-a', 1), bound, 'what is bound is not withdrawn');
  t.match(book.withdrawn(of, 'r-a', 7)[0], { state: 'idle', sandbox: null, pod: null, requestId: null, atMs: 7 });
});

t.test('addressBook: freeing lets rest what was bound, drops what is invalid, and touches nothing else', async (t) => {
  const of = oneOfEach();
  const outcomes: Record<AddressState, AddressState | undefined> = {
    idle: 'idle',
    offered: 'offered',
    bound: 'cooling',
    cooling: 'cooling',
    reserved: 'reserved',
    leaving: 'leaving',
    invalid: undefined,
  };
  for (const { state, address } of of)
    t.equal(states(book.freed(of, address.ipv4, 900))[address.ipv4], outcomes[state], state);
  const cooling = book.freed(of, '10.0.0.2', 900).find((entry) => entry.address.ipv4 === '10.0.0.2');
  t.match(cooling, { sandbox: null, pod: null, atMs: 900 });
  t.equal(book.nextRestMs(book.freed(of, '10.0.0.2', 400)), 400, 'the earlier end');
  t.equal(book.nextRestMs(book.bookOf(['10.0.0.1'], 0)), null);
  t.equal(states(book.rested(of, 499))['10.0.0.3'], 'cooling');
  t.equal(states(book.rested(of, 500))['10.0.0.3'], 'idle');
  t.equal(book.rested(of, 499), of, 'nothing to do is the same book');
});

t.test('addressBook: only idle secondary addresses leave, the youngest first', async (t) => {
  let of = book.added(book.bookOf(['10.0.0.1'], 0), ['10.0.0.2'], 10);
  of = book.added(of, ['10.0.0.3'], 20);
  t.equal(book.sheddable(of), 2);
  t.same(book.leavingIps(book.leaving(of, 1)), ['10.0.0.3']);
  t.same(book.leavingIps(book.leaving(of, 5)), ['10.0.0.2', '10.0.0.3'], 'the primary one stays');
  t.same(book.leavingIps(book.leaving(of, -1)), []);
  const going = book.leaving(of, 2);
  t.same(states(book.left(going, ['10.0.0.3', '10.0.0.1'])), { '10.0.0.1': 'idle', '10.0.0.2': 'leaving' });
  t.same(book.leavingIps(book.leaving(oneOfEach(), 9)), ['10.0.0.5'], 'no other state is taken');
});

t.test('addressBook: what the cloud reports wins, but a holder keeps its claim', async (t) => {
  const gone = book.reconciled(oneOfEach(), [], 200);
  t.same(states(gone), {
    '10.0.0.2': 'invalid',
    '10.0.0.4': 'invalid',
    '10.0.0.9': 'invalid',
  });
  const back = book.reconciled(
    oneOfEach(),
    ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6', '10.0.0.7', '10.0.0.9'],
    200,
  );
  t.same(states(back), {
    '10.0.0.1': 'idle',
    '10.0.0.2': 'bound',
    '10.0.0.3': 'cooling',
    '10.0.0.4': 'offered',
    '10.0.0.5': 'idle',
    '10.0.0.6': 'reserved',
    '10.0.0.7': 'idle',
    '10.0.0.9': 'bound',
  });
  t.notOk(back.find((entry) => entry.address.ipv4 === '10.0.0.7')?.primary);
});

t.test('addressBook: an address that was offered, vanished and came back is what it was', async (t) => {
  const gone = book.reconciled(oneOfEach(), [], 200);
  const back = book.reconciled(gone, ['10.0.0.4', '10.0.0.6'], 300);
  t.equal(states(back)['10.0.0.4'], 'offered');
  const bound = book.bound(gone, 'r-offered');
  t.equal(states(book.reconciled(bound, ['10.0.0.4'], 300))['10.0.0.4'], 'bound', 'its lease was written meanwhile');
  const withdrawn = book.withdrawn(gone, 'r-offered', 300);
  t.equal(states(withdrawn)['10.0.0.4'], undefined, 'nobody wants it, and the cloud has it no more');
});

t.test('address book: an ENI first seen without its primary address learns it, and never gives it back', (t) => {
  const seen = book.bookOf(['10.0.0.7'], 0);
  const known = book.reconciled(seen, ['10.0.0.4', '10.0.0.7'], 100);
  t.strictSame(
    known.filter((entry) => entry.primary).map((entry) => entry.address.ipv4),
    ['10.0.0.4'],
  );
  t.equal(states(book.leaving(known, 2))['10.0.0.4'], 'idle');
  t.equal(states(book.leaving(known, 2))['10.0.0.7'], 'leaving');
  t.equal(
    book.reconciled(known, ['10.0.0.7'], 200).find((entry) => entry.primary),
    undefined,
    'it is not there',
  );
  t.end();
});

t.test('book: of several addresses kept for a pod it is offered the one that it had last', (t) => {
  const kept = (ipv4: string, atMs: number) =>
    ({
      address: { ipv4, ipv6: null },
      primary: false,
      state: 'reserved',
      requestId: null,
      sandbox: null,
      pod: 'p',
      atMs,
    }) as const;
  const asked = { requestId: 'r', sandbox: 'c/eth0', pod: 'p' };
  for (const owned of [
    [kept('10.0.0.1', 5), kept('10.0.0.2', 9)],
    [kept('10.0.0.2', 9), kept('10.0.0.1', 5)],
  ])
    t.equal(book.offered(owned, asked, false)?.address.ipv4, '10.0.0.2');
  t.end();
});
