/** What is left to an ENI of which another one has addresses now. */
import t from 'tap';
import type { Address } from '../../src/core/address.ts';
import { type AddressState, bookOf, type Entry } from '../../src/core/address-book.ts';
import { noHalves } from '../../src/core/pairs.ts';
import { afterMove, type Owner, ownBut, ownsAny } from '../../statecharts/eni-owned.ts';

const entry = (nth: number, state: AddressState, ipv6 = false): Entry => {
  const [known] = bookOf([`10.0.0.${nth}`], 0, new Map());
  if (known === undefined) throw new Error('no entry');
  const address: Address = { ipv4: `10.0.0.${nth}`, ipv6: ipv6 ? `fd00::${nth}` : null };
  return { ...known, address, state, primary: nth === 1, sandbox: state === 'bound' ? 'c/eth0' : null };
};
const owner = (book: readonly Entry[], more: Partial<Owner> = {}): Owner => ({
  ...{
    eniId: 'eni-1',
    ours: true,
    limit: 6,
    dual: false,
    queue: [],
    growBy: 0,
    arriving: 0,
    takingYet: false,
    nowMs: 0,
  },
  ...{ asking: { family: 4, count: 0 }, book, halves: noHalves },
  ...more,
});
const states = ({ book }: { readonly book: readonly Entry[] }): Record<string, string> =>
  Object.fromEntries(book.map(({ address, state }) => [address.ipv4, state]));

t.test('moved: what nobody holds is gone, what somebody holds is invalid, and the rest stays as it was', async (t) => {
  const book = [entry(2, 'bound'), entry(1, 'idle'), entry(3, 'cooling'), entry(4, 'idle')];
  const before = owner(book);
  const after = afterMove(before, ['10.0.0.2', '10.0.0.3'], 5);
  t.same(states(after), { '10.0.0.2': 'invalid', '10.0.0.1': 'idle', '10.0.0.4': 'idle' });
  t.equal(after.book.find(({ primary }) => primary)?.address.ipv4, '10.0.0.1');
  t.equal(ownBut(before, []).ipv4[0], '10.0.0.1', 'the primary address comes first');
});

t.test('moved: what leaves goes on leaving, and what is invalid stays so', async (t) => {
  const before = owner([entry(1, 'idle'), entry(2, 'leaving'), entry(3, 'invalid')]);
  t.notOk(ownsAny(before, ['10.0.0.2', '10.0.0.3', '10.0.0.9']), 'that is no news');
  const after = afterMove(before, ['10.0.0.2', '10.0.0.3', '10.0.0.1'], 5);
  t.match(states(after), { '10.0.0.2': 'leaving', '10.0.0.3': 'invalid' });
});

t.test('moved: in dual stack a pair that loses a half serves nobody', async (t) => {
  const before = owner([entry(1, 'idle', true), entry(2, 'idle', true), entry(3, 'bound', true)], { dual: true });
  t.ok(ownsAny(before, ['fd00::2']));
  const after = afterMove(before, ['fd00::2', '10.0.0.3'], 5);
  t.same(states(after), { '10.0.0.1': 'idle', '10.0.0.3': 'invalid' });
  t.match(after.halves.ipv4, [{ address: { ipv4: '10.0.0.2', ipv6: null } }]);
});
