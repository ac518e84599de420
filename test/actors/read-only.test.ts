/**
 * Read-only mode, over the real SDK and the simulated cloud, whose ledger is the witness: pods come and go for an hour (scaled), and no
 * call that changes something arrives. Then the same node is let go, and does what it had said.
 */
import t from 'tap';
import { mutates } from '../../src/vpc/model.ts';
import type { ApiName } from '../../src/vpc/requests.ts';
import { eventually, oneNode } from './one-node.ts';

/** An hour lasts two seconds. */
const SPEED = 1_800;
const HOUR_MS = 3_600_000 / SPEED;

const settings = {
  minIdle: 2,
  maxIdle: 3,
  coolDownMs: 20,
  poolPeriodMs: 120_000 / SPEED,
  cloudPeriodMs: 120_000 / SPEED,
  gcPeriodMs: 300_000 / SPEED,
  kernelPeriodMs: 60_000 / SPEED,
  reclaim: { afterMs: 200, intervalMs: 100, batchSize: 2, jitterFactor: 0 },
};

type Lab = Awaited<ReturnType<typeof oneNode>>;
const changes = (lab: Lab, sinceSeq: number): string[] =>
  lab.cloud.live.gateway.ledger
    .read(sinceSeq, null)
    .filter(({ api }) => mutates(api as ApiName))
    .map(({ api }) => api);
const lastSeq = (lab: Lab): number => lab.cloud.live.gateway.ledger.lastSeq;

t.test(
  'read-only: an hour of churn changes nothing in the cloud; what would be done is said, and done once it may be',
  async (t) => {
    const lab = await oneNode({ settings, instanceType: 'ecs.g7.large' });
    t.teardown(lab.stop);
    await lab.serving();
    await Promise.all(['a', 'b', 'c'].map((name) => lab.add(name)));
    await eventually('it is filled', () => (lab.report().pool?.counts.idle ?? 0) >= 2);
    const owned = lab.truth().map((eni) => [eni.eniId, [...eni.ipv4].sort()]);

    await lab.restart({ readOnly: true, minIdle: 6, maxIdle: 6 });
    const sinceSeq = lastSeq(lab);
    const untilMs = Date.now() + HOUR_MS;
    let [served, refused, nth] = [0, 0, 0];
    while (Date.now() < untilMs) {
      nth += 1;
      const names = [`x${nth}`, `y${nth}`, `z${nth}`, `w${nth}`];
      const results = await Promise.allSettled(names.map((name) => lab.add(name, Date.now() + 500)));
      for (const result of results) {
        if (result.status === 'fulfilled') served += 1;
        else {
          refused += 1;
          t.match(result.reason, {
            code: 'readOnly',
            detail: /read-only mode: no address is idle; would (assign one on eni-|create an ENI in vsw-)/,
          });
        }
      }
      for (const name of names) await lab.del(name);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    t.ok(served > 10, `${served} pods were served from idle addresses`);
    t.ok(refused > 10, `${refused} were refused at once`);
    t.strictSame(changes(lab, sinceSeq), [], 'the ledger has only reads');
    t.ok(lastSeq(lab) > sinceSeq, 'which there are');
    t.ok(changes(lab, 0).length > 0, 'and it knows the others');
    t.equal(lab.cloud.live.gateway.ledger.forgotten, 0, 'all of them');
    t.strictSame(
      lab.truth().map((eni) => [eni.eniId, [...eni.ipv4].sort()]),
      owned,
    );
    t.strictSame(lab.refused, [], 'and nothing had to be kept from it at the port');
    await eventually('all that is free is idle', () => lab.report().pool?.counts.cooling === 0);
    const { readOnly, pool } = lab.report();
    t.equal(pool?.counts.bound, 3);
    const missing = 6 - (pool?.counts.idle ?? 0);
    t.match(readOnly?.would, [/^would (assign \d+ address|create an ENI with \d+ address)/]);
    const said = [...(readOnly?.would.join(' ') ?? '').matchAll(/(\d+) address/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
    t.equal(said, missing);

    await lab.restart({ readOnly: true, minIdle: 0, maxIdle: 0 });
    await eventually('what is too much would go', () => (lab.report().readOnly?.would.length ?? 0) > 0);
    t.match(lab.report().readOnly?.would, [/^would unassign \d+ address(es)? of eni-/]);
    t.strictSame(changes(lab, sinceSeq), []);

    await lab.restart({ readOnly: false, minIdle: 6, maxIdle: 6 });
    await eventually('what was said is done', () => lab.report().pool?.counts.idle === 6);
    t.ok(changes(lab, sinceSeq).length > 0);
    t.equal(lab.report().readOnly, undefined);
  },
);

t.test(
  'read-only: what an actor tries all the same is refused at the port and told, and pods keep what they have',
  async (t) => {
    const lab = await oneNode({ settings: { ...settings, minIdle: 0 }, instanceType: 'ecs.g7.large' });
    t.teardown(lab.stop);
    await lab.serving();
    await lab.restart({ readOnly: true });
    const sinceSeq = lastSeq(lab);
    // One with our tags that no actor has: the keeper takes it over, and its actor would finish it off.
    const change = { vSwitchId: 'vsw-lab-1', securityGroupIds: ['sg-lab'], instanceId: null, secondaries: 0, ipv6: 0 };
    const tags = { creator: 'enactor', 'enactor/instance': 'i-lab-node-1', 'enactor/request': 'given-up' };
    await lab.change({ change: 'createEni', ...change, tags, serviceManaged: false });
    const [stray] = lab.truth();
    await eventually(
      'its actor would delete it',
      () => lab.refused.some((what) => what === `would delete ${stray?.eniId}`),
      15_000,
    );
    t.strictSame(changes(lab, sinceSeq), []);
    t.equal(lab.truth().length, 1);
  },
);
