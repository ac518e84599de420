/**
 * B08: callers gave up while the cloud was slow. Addresses that arrived later were booked to those who had left, or somebody waited for
 * ever to hand them over; a DEL that crossed the ADD left memory and store apart. (b08-real-daemon.test.ts kills real plugins.)
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { eventually } from '../actors/one-node.ts';
import { checkRest, watchForeign } from './invariants.ts';
import { delays, names, type Rig, rig } from './rig.ts';
import { atLeast, sped } from './speed.ts';

t.setTimeout(900_000);
const PODS = 30;
const NEXT = 5;
const ROUNDS = 10;
const SLOW_MS = 40_000;
/** "Well under a second" is a bound of the case, not a measurement: an answer without a call of the cloud takes milliseconds. */
const AT_ONCE_MS = 1_000;
/** What a heap may hold more after ten rounds than after one: nothing is kept of 300 requests. */
const HEAP_MAX_MIB = 12;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const state = (lab: Pick<Rig, 'report'>) => {
  const { leases, enis, pool } = lab.report();
  const addresses = enis.flatMap((eni) =>
    eni.addresses.map((one) => `${eni.eniId} ${one.ipv4} ${one.state} ${one.pod}`),
  );
  return { leases, addresses: addresses.sort(), counts: pool?.counts };
};

t.test('B08: thirty callers leave, half of them say DEL, and nothing is left of it, ten times', async (t) => {
  const lab = await rig(t, {
    instanceType: 'ecs.g7.xlarge', // 45 addresses
    settings: { maxIdle: 45, coolDownMs: 1_000, callTimeoutMs: 20_000, attachTimeoutMs: 120_000 },
    cloud: delays({ createCallMs: 50, assignCallMs: 50 }),
  });
  const untouched = watchForeign(lab);
  let first: { heapMiB: number; handles: number; actors: number } | null = null;
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const api of ['CreateNetworkInterface', 'AssignPrivateIpAddresses'])
      await lab.plant({ api, effect: 'delay', ms: sped(SLOW_MS), times: 4 });
    // Idle ones of an earlier round would answer at once: all pods beyond them meet the slow cloud.
    const idle = lab.counts().idle;
    const early = await lab.adds(names(`early${round}-`, idle));
    t.strictSame(early.errors, []);
    const pods = names(`pod${round}-`, Math.min(PODS, 45 - idle));
    const callers = pods.map((name) => {
      const caller = new AbortController();
      const answer = lab.add(name, Date.now() + 60_000, caller.signal).then(
        () => 'answered',
        () => 'left',
      );
      return { name, caller, answer };
    });
    await new Promise((resolve) => setTimeout(resolve, sped(2_000)));
    for (const { caller } of callers) caller.abort();
    await Promise.all(pods.slice(0, PODS / 2).map((name) => lab.del(name)));
    const answered: string[] = [];
    for (const { name, answer } of callers) if ((await answer) === 'answered') answered.push(name);
    // From the second round on an address may have come for one of them in time; such a pod is deleted like any other.
    if (round === 1) t.strictSame(answered, [], 'nobody was answered');
    for (const name of answered) await lab.del(name);
    for (const name of names(`early${round}-`, idle)) await lab.del(name);
    await eventually(
      'no pending request is left',
      () => lab.report().waiting.length === 0 && lab.report().enis.every((eni) => eni.waiting === 0),
      atLeast(8_000, 4 * SLOW_MS),
    );
    await lab.unplant();
    if (round === 1 || round === ROUNDS) {
      await checkRest(t, lab, `round ${round}`);
      t.equal(
        lab.counts().idle,
        lab.truth().reduce((sum, eni) => sum + eni.ipv4.length, 0),
        'all of it is idle',
      );
    }
    t.strictSame(lab.report().leases, [], 'nobody who left has a lease');
    t.strictSame([...(lab.disk.get('leases')?.keys() ?? [])], [], 'nor on disk');

    await eventually('what was freed has rested', () => lab.counts().cooling + lab.counts().offered === 0, 10_000);
    const [before, there] = [lab.lastSeq(), lab.counts().idle];
    const startMs = Date.now();
    const next = names(`next${round}-`, NEXT);
    const { errors } = await lab.adds(next);
    t.strictSame(errors, []);
    t.ok(Date.now() - startMs < AT_ONCE_MS, 'new pods are answered in well under a second');
    if (there >= NEXT) t.strictSame(lab.mutations(before), [], 'from what is idle');
    if (round === 1 || round === ROUNDS) {
      await checkRest(t, lab, 'with new pods');
      const whole = state(lab);
      await lab.restart();
      await eventually('its ENIs are in use', () => lab.report().enis.every((eni) => eni.state.startsWith('inUse')));
      t.strictSame(state(lab), whole, 'the state before and after the restart is the same');
    }
    for (const name of next) await lab.del(name);
    await eventually('rested', () => lab.counts().cooling === 0, 10_000);
    collect();
    const now = {
      heapMiB: process.memoryUsage().heapUsed / 2 ** 20,
      handles: process.getActiveResourcesInfo().length,
      actors: lab.report().actors.length,
    };
    first ??= now;
    if (round < ROUNDS) continue;
    t.comment(JSON.stringify({ first, now }));
    t.ok(
      now.actors <= first.actors + 3,
      `${now.actors} actors, ${first.actors} after round 1 (two more ENIs may be there)`,
    );
    t.ok(now.handles <= first.handles + 8, `${now.handles} handles, ${first.handles} after round 1`);
    t.ok(now.heapMiB <= first.heapMiB + HEAP_MAX_MIB, `${now.heapMiB} MiB, ${first.heapMiB} after round 1`);
  }
  untouched(t);
});
