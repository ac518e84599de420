import t from 'tap';
import { bounded } from '../../src/core/bounded.ts';

t.test('bounded: what is named like a secret is masked, at any depth', async (t) => {
  const shown = JSON.stringify(
    bounded({ a: [{ accessKeySecret: 'S1', security_token: 'S2', nested: { password: 'S3' } }] }),
  );
  t.notMatch(shown, /S1|S2|S3/);
  t.match(shown, /"accessKeySecret":"\*{6}"/);
});

t.test('bounded: where credentials come from is told, they are not', async (t) => {
  const told = { credentials: { source: 'ram_role', untilMs: 5, failure: null } };
  t.strictSame(bounded(told), told);
  const leaking = { credentials: { accessKeyId: 'S1', accessKeySecret: 'S2', securityToken: 'S3' } };
  t.notMatch(JSON.stringify(bounded(leaking)), /S[123]/);
  t.strictSame(bounded({ credential: 'S1', credentials: ['S1'] }), { credential: '******', credentials: '******' });
});

t.test('bounded: long lists, long texts and deep values are cut, and say so', async (t) => {
  const bounds = { depth: 3, items: 2, chars: 4 };
  t.strictSame(bounded({ list: [1, 2, 3], text: 'abcdef' }, bounds), { list: [1, 2, '… 1 more'], text: 'abcd…' });
  t.strictSame(bounded({ a: { b: { c: { d: 1 } } } }, bounds), { a: { b: { c: '…' } } });
  t.strictSame(bounded({ a: 1, b: 2, c: 3 }, bounds), { a: 1, b: 2, '…': '1 more' });
});

t.test('bounded: maps, sets, errors, references to actors and endless values are JSON', async (t) => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  const ref = { sessionId: 'x:1', id: 'eni:0', system: loop };
  const value = {
    map: new Map([['k', new Set([1])]]),
    error: new TypeError('no'),
    ref,
    big: 1n,
    f: () => 1,
    nan: Number.NaN,
  };
  t.strictSame(bounded(value), {
    ...{ map: { $map: [['k', { $set: [1] }]] }, error: 'TypeError: no', ref: '[actor eni:0]' },
    ...{ big: '1', f: '[function]', nan: 'NaN' },
  });
  t.equal(JSON.stringify(bounded(loop)).length, '{"self":'.length * 6 + '"…"'.length + 6);
});
