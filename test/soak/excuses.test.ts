import t from 'tap';
import { Excuses, REPAIR_MS } from './excuses.ts';

t.test('excuses: a lost ping is one only from the breach until there was time to repair it', async (t) => {
  const excuses = new Excuses();
  t.equal(excuses.why(5, '10.0.0.1'), null, 'nothing is broken');
  excuses.broken(1_000, 'rules');
  t.equal(excuses.why(700, '10.0.0.1'), null);
  t.equal(excuses.why(1_000, '10.0.0.1'), 'rules');
  t.equal(excuses.why(1_000 + REPAIR_MS, '10.0.0.1'), 'rules');
  t.equal(excuses.why(1_001 + REPAIR_MS, '10.0.0.1'), null);
  t.ok(excuses.isWhole(1_001 + REPAIR_MS));
});

t.test('excuses: while no daemon serves nothing is repaired, and its death alone excuses nothing', async (t) => {
  const excuses = new Excuses();
  excuses.gone(500);
  excuses.serves(600);
  t.equal(excuses.why(550, '10.0.0.1'), null, 'pods do not need a daemon');
  excuses.broken(1_000, 'tables');
  excuses.gone(2_000);
  t.equal(excuses.why(100_000, '10.0.0.1'), 'tables', 'it is away');
  excuses.serves(20_000);
  t.equal(excuses.why(20_000 + REPAIR_MS, '10.0.0.1'), 'tables');
  t.equal(excuses.why(20_001 + REPAIR_MS, '10.0.0.1'), null);
  excuses.gone(60_000);
  t.equal(excuses.why(60_000, '10.0.0.1'), null, 'a later death prolongs nothing that was repaired');
});

t.test('excuses: a place is patient for as long as some daemon serves', async (t) => {
  const excuses = new Excuses();
  t.equal(excuses.servedMs(1_000, 3_000), 2_000);
  excuses.gone(2_000);
  t.equal(excuses.servedMs(1_000, 9_000), 1_000, 'it is away yet');
  excuses.serves(5_000);
  excuses.gone(8_000);
  excuses.serves(8_500);
  t.equal(excuses.servedMs(1_000, 9_000), 4_500);
  t.equal(excuses.servedMs(6_000, 7_000), 1_000);
});

t.test('excuses: an agent concerns the address it takes, as long as it renews', async (t) => {
  const excuses = new Excuses();
  const agent = excuses.begun(1_000, 'agent', '10.0.0.1');
  t.equal(excuses.why(90_000, '10.0.0.1'), 'agent');
  t.equal(excuses.why(90_000, '10.0.0.2'), null);
  t.equal(excuses.why(90_000, null), 'agent', 'of whom nobody knows whose it was');
  agent.untilMs = 90_000;
  t.equal(excuses.why(90_001 + REPAIR_MS, '10.0.0.1'), null);
});
