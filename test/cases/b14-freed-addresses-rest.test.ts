/**
 * B14: a freed address was handed to the next pod at once, while peers still had connections to the old one; a restart forgot the waiting
 * time, or the timer never fired again and the address stayed in quarantine for ever.
 */
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkLeases, checkRest, watchForeign } from './invariants.ts';
import { CAPACITY, ipOf, names, type Rig, rig } from './rig.ts';
import { pause, SPEED, sped } from './speed.ts';

/** A minute in life; in CI long enough for a busy machine to give out six addresses within it. */
const COOL_DOWN_MS = Math.max(60_000, 4_000 * SPEED);
const IDLE = 6;

/** Six idle addresses, and one in use by `p1`. */
async function sixIdle(t: Parameters<typeof rig>[0]): Promise<{ lab: Rig; x: string }> {
  const lab = await rig(t, { settings: { maxIdle: CAPACITY, coolDownMs: COOL_DOWN_MS } });
  const p1 = await lab.add('p1');
  await lab.adds(names('old', IDLE));
  await Promise.all(names('old', IDLE).map((name) => lab.del(name)));
  await eventually('six have rested', () => lab.counts().idle === IDLE, sped(2 * COOL_DOWN_MS) + 3_000);
  return { lab, x: ipOf(p1) };
}

function coolsUntilMs(lab: Rig, ip: string): number | null {
  return (
    lab
      .report()
      .enis.flatMap((eni) => eni.addresses)
      .find((one) => one.ipv4 === ip)?.untilMs ?? null
  );
}

t.jobs = 4;

for (const restarted of [false, true]) {
  const how = restarted ? 'with a restart between DEL and ADD' : 'in one life of the daemon';
  t.test(`B14: a freed address is the last to be reused, ${how}`, { buffered: true }, async (t) => {
    const { lab, x } = await sixIdle(t);
    const untouched = watchForeign(lab);
    await lab.del('p1');
    const untilMs = coolsUntilMs(lab, x);
    t.ok(untilMs !== null && untilMs > Date.now(), `${x} is cooling`);
    if (restarted) {
      await lab.restart();
      await eventually('its ENIs are in use again', () => lab.counts().idle === IDLE);
      t.equal(coolsUntilMs(lab, x), untilMs, 'the end of the cool-down outlived the restart');
    }
    for (const name of names('new', IDLE)) t.not(ipOf(await lab.add(name)), x, `${name} gets another one`);
    t.ok(Date.now() < (untilMs ?? 0), 'all of that within the cool-down');
    checkLeases(t, lab);
    // More than X is wanted while it cools: the node grows first, and X is better than a refusal.
    const others = CAPACITY - IDLE - 1;
    let given = false;
    for (const name of names('more', others)) {
      given ||= ipOf(await lab.add(name)) === x;
      t.ok(
        !given || Date.now() >= (untilMs ?? 0),
        `${name}: a new one, but on a machine that takes longer than the cool-down`,
      );
    }
    if (Date.now() < (untilMs ?? 0)) t.equal(coolsUntilMs(lab, x), untilMs, 'nobody has it yet');
    const last = ipOf(await lab.add('last'));
    if (!given) t.equal(last, x, 'nothing else is left');
    await checkRest(t, lab);
    untouched(t);
  });

  const then = restarted ? 'with a restart in it' : how;
  t.test(`B14: after the cool-down the address is really usable, ${then}`, { buffered: true }, async (t) => {
    const { lab, x } = await sixIdle(t);
    const untouched = watchForeign(lab);
    await lab.del('p1');
    const untilMs = coolsUntilMs(lab, x) ?? 0;
    await pause(COOL_DOWN_MS / 2);
    if (restarted) await lab.restart();
    await eventually('it is idle again', () => lab.counts().idle === IDLE + 1, sped(COOL_DOWN_MS) + 3_000);
    t.ok(Date.now() >= untilMs, 'not before its time');
    const { leases, errors } = await lab.adds(names('fill', CAPACITY));
    t.strictSame(errors, []);
    t.ok(leases.map(ipOf).includes(x), 'and in use again on a full node');
    await checkRest(t, lab);
    untouched(t);
  });
}
