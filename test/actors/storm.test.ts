import t from 'tap';
import { EnactorError } from '../../src/core/errors.ts';
import { atRest, troubles } from './at-rest.ts';
import { eventually, type OneNode, oneNode } from './one-node.ts';

/** A generator of its own, so that a failure can be repeated from its seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Address -> the pod that was told it is its own, from the answer of ADD until DEL is called. */
class Owners {
  readonly found: string[] = [];
  readonly #owners = new Map<string, string>();

  own(lab: OneNode, name: string, ipv4: string): void {
    const other = this.#owners.get(ipv4);
    if (other !== undefined && other !== name) this.found.push(`${ipv4} given to ${name} while ${other} has it`);
    this.#owners.set(ipv4, name);
    const eni = lab.truth().find((one) => one.ipv4.includes(ipv4));
    if (eni?.status !== 'InUse')
      this.found.push(`${ipv4} given to ${name} on an ENI that is ${eni?.status ?? 'not there'}`);
  }

  disown(name: string): void {
    for (const [ipv4, owner] of this.#owners) if (owner === name) this.#owners.delete(ipv4);
  }
}

/** One pod's life: ADDs, some of them given up by the caller, some with too little time, and DELs, until it is gone. */
async function live(
  lab: OneNode,
  name: string,
  below: (n: number) => number,
  owners: Owners,
  rounds: number,
): Promise<number> {
  let answers = 0;
  for (let round = 0; round < rounds; round += 1) {
    await pause(below(40));
    const caller = new AbortController();
    const timer = below(4) === 0 ? setTimeout(() => caller.abort(), below(60)) : undefined;
    const untilMs = Date.now() + (below(6) === 0 ? below(50) : 4_000);
    try {
      const lease = await lab.add(name, untilMs, caller.signal);
      owners.own(lab, name, lease.grant.address.ipv4);
    } catch (error) {
      if (!(error instanceof EnactorError) || error.code === 'internal') owners.found.push(`${name}: ${error}`);
    }
    answers += 1;
    clearTimeout(timer);
    await pause(below(60));
    if (below(5) === 0) continue;
    owners.disown(name);
    // A DEL that fails is repeated, as a runtime does.
    for (let tries = 0; tries < 20; tries += 1) {
      try {
        await lab.del(name);
        break;
      } catch {
        await pause(5);
      }
    }
  }
  return answers;
}

const FAULTS = [
  ['CreateNetworkInterface', { effect: 'fail', code: 'InternalError' }],
  ['CreateNetworkInterface', { effect: 'drop' }],
  ['AttachNetworkInterface', { effect: 'transition', fails: true }],
  ['AttachNetworkInterface', { effect: 'fail', code: 'Operation.Conflict' }],
  ['AssignPrivateIpAddresses', { effect: 'drop' }],
  ['AssignPrivateIpAddresses', { effect: 'fail', code: 'Throttling.User' }],
  ['UnassignPrivateIpAddresses', { effect: 'drop' }],
  ['UnassignPrivateIpAddresses', { effect: 'fail', code: 'InternalError' }],
  ['DescribeNetworkInterfaces', { effect: 'fail', code: 'ServiceUnavailable' }],
  ['DetachNetworkInterface', { effect: 'fail', code: 'InternalError' }],
  ['DeleteNetworkInterface', { effect: 'drop' }],
] as const;

for (const [name, seed, settings, broken] of [
  ['without a pool', 11, { minIdle: 0, maxIdle: 0 }, false],
  ['with a pool', 12, { minIdle: 3, maxIdle: 5 }, false],
  ['with a pool, in a cloud that keeps failing', 13, { minIdle: 2, maxIdle: 4 }, true],
  ['without a pool, in a cloud that keeps failing', 14, { minIdle: 0, maxIdle: 0 }, true],
] as const) {
  t.test(
    `storm ${name}: no address twice, none that is not there, everybody answered, and rest after it`,
    async (t) => {
      const lab = await oneNode({ settings: { ...settings, coolDownMs: 20 } });
      t.teardown(lab.stop);
      const planted = Number(process.env.SEED ?? seed);
      t.comment(`seed ${planted}`);
      void lab.node.failed.then((error) => t.fail(`the node failed: ${error.message}`));
      await lab.serving();
      const below = random(planted);
      const owners = new Owners();
      const names = Array.from({ length: 16 }, (_, i) => `p${i}`);
      let over = false;
      const trouble = (async () => {
        while (broken && !over) {
          const [api, fault] = FAULTS[below(FAULTS.length)] ?? FAULTS[0];
          await lab.fault(api, fault);
          if (below(4) === 0) lab.failWrites(1);
          await pause(30);
        }
      })();
      const answers = await Promise.all(names.map((pod, i) => live(lab, pod, random(planted * 100 + i), owners, 6)));
      over = true;
      await trouble;
      await lab.mend();
      lab.failWrites(0);
      t.equal(
        answers.reduce((sum, count) => sum + count, 0),
        16 * 6,
        'everybody was answered',
      );
      t.same(owners.found, [], 'no address twice, and each where it was said to be');
      await atRest(lab);
      t.same(troubles(lab), [], 'everything is in its place');
      const { idle = 0 } = lab.report().pool?.counts ?? {};
      t.ok(idle >= settings.minIdle, `${idle} idle, ${settings.minIdle} wanted`);

      const before = new Map(lab.report().leases.map((lease) => [lease.sandbox.containerId, lease.grant.address.ipv4]));
      await lab.restart();
      await atRest(lab);
      const after = new Map(lab.report().leases.map((lease) => [lease.sandbox.containerId, lease.grant.address.ipv4]));
      t.same(after, before, 'a restart changes no lease');
      await Promise.all(names.map((pod) => lab.del(pod)));
      await eventually('no lease is left', () => lab.report().leases.length === 0);
      await atRest(lab);
      t.same(troubles(lab), []);
    },
  );
}

t.test('storm: a restart in the middle loses no answered lease and gives no address twice', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 3 } });
  t.teardown(lab.stop);
  await lab.serving();
  const owners = new Owners();
  for (let round = 0; round < 4; round += 1) {
    const names = Array.from({ length: 5 }, (_, i) => `r${round}-${i}`);
    const adds = names.map(async (name) => {
      const lease = await lab.add(name);
      owners.own(lab, name, lease.grant.address.ipv4);
      return name;
    });
    const settled = Promise.allSettled(adds);
    await pause(5 + round * 12);
    await lab.restart();
    const answered = (await settled).flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const held = lab.report().leases.map((lease) => lease.sandbox.pod.name);
    t.ok(
      answered.every((name) => held.includes(name)),
      `${answered.length} answered leases are still there`,
    );
    for (const name of names) owners.disown(name);
    await Promise.all(names.map((name) => lab.del(name)));
  }
  t.same(owners.found, []);
  await atRest(lab);
  t.same(troubles(lab), []);
});
