import t from 'tap';
import type { Drift } from '../../src/core/drift.ts';
import { heldOff, nextRepairMs, noted, type RepairLedger, repairKey } from '../../src/core/repair-ledger.ts';

const times = { repairWaitMs: 1_000, repairWaitMaxMs: 60_000, periodMs: 30_000, patienceMs: 10_000 };
const drift = (more: Partial<Drift> = {}): Drift => ({
  kind: 'podRule',
  object: 'a',
  pod: null,
  outcome: 'repaired',
  detail: null,
  ...more,
});

t.test('repair ledger: a first repair is told once and may be made again after the wait', async (t) => {
  const first = noted([], [drift()], 5_000, times);
  t.match(first.news, [{ object: 'a', contested: false }]);
  t.strictSame(heldOff(first.ledger, 5_000), [{ key: repairKey(drift()), untilMs: 6_000 }]);
  t.strictSame(heldOff(first.ledger, 6_000), []);
  t.equal(nextRepairMs(first.ledger), null, 'nothing waits');
  const peace = noted(first.ledger, [], 6_000, times);
  t.match(peace, { news: [], ledger: [{ times: 1 }] });
  t.match(noted(peace.ledger, [drift()], 90_000, times), { news: [], ledger: [{ times: 2, undone: 0 }] });
});

t.test('repair ledger: what is undone is repaired ever more seldom, and the fight is told once', async (t) => {
  let ledger: RepairLedger = [];
  const repairedAt: number[] = [];
  const contested: number[] = [];
  for (let nowMs = 0; nowMs < 600_000; nowMs += 500) {
    const held = heldOff(ledger, nowMs).length > 0;
    const { ledger: next, news } = noted(ledger, [drift({ outcome: held ? 'heldOff' : 'repaired' })], nowMs, times);
    if (!held) repairedAt.push(nowMs);
    if (held) t.equal(nextRepairMs(next), next[0]?.untilMs);
    contested.push(...news.filter((one) => one.contested).map(() => nowMs));
    ledger = next;
  }
  t.strictSame(repairedAt.slice(0, 6), [0, 1_000, 3_000, 7_000, 15_000, 31_000]);
  t.ok(repairedAt.length < 20, `${repairedAt.length} repairs in ten minutes`);
  t.strictSame(contested, [15_000]);
});

t.test('repair ledger: what cannot be repaired is told when it stays, and forgotten when it goes', async (t) => {
  const gone = drift({ kind: 'podDevice', outcome: 'beyondRepair' });
  const first = noted([], [gone], 0, times);
  t.strictSame(first.news, [], 'a DEL may be on its way');
  t.strictSame(noted(first.ledger, [], 1_000, times).ledger, []);
  const still = noted(first.ledger, [gone], 10_000, times);
  t.match(still.news, [{ kind: 'podDevice', contested: false }]);
  t.strictSame(noted(still.ledger, [gone], 20_000, times).news, []);
});

t.test('repair ledger: it stays bounded, and keeps what was seen last', async (t) => {
  let ledger: RepairLedger = [];
  for (let at = 0; at < 1_000; at += 1) ledger = noted(ledger, [drift({ object: `${at}` })], at, times).ledger;
  t.equal(ledger.length, 256);
  t.equal(ledger[0]?.object, '999');
});
