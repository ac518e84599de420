import t from 'tap';
import { corrected, said } from '../../src/core/late-describe.ts';

const shown = (...ipv4: string[]) => ({ ipv4, ipv6: [] as string[] });

t.test('late Describe: what an answer said counts against what is shown, for a while', (t) => {
  const gone = said([], ['a'], false, { nowMs: 100, lateMs: 50 });
  t.strictSame(corrected(shown('p', 'a'), gone, 120).ipv4, ['p'], 'it was unassigned a moment ago');
  t.strictSame(corrected(shown('p', 'a'), gone, 200).ipv4, ['p', 'a'], 'Describe cannot be as late as that');
  t.end();
});

t.test('late Describe: the newest answer about an address is the one that counts', (t) => {
  const gone = said([], ['a'], false, { nowMs: 100, lateMs: 50 });
  const back = said(gone, ['a'], true, { nowMs: 110, lateMs: 50 });
  t.strictSame(corrected(shown('p', 'a'), back, 120).ipv4, ['p', 'a'], 'unassigned, and assigned again');
  t.end();
});
