/** Somebody takes an address from one of our ENIs, and the cloud gives it to another one: no two books have it until they are compared. */
import t from 'tap';
import type { Settings } from '../../src/core/settings.ts';
import { type OneNode, oneNode } from './one-node.ts';

const LIMIT = 6;

const stateAt = (on: OneNode, eniId: string, ip: string): string | undefined =>
  on
    .report()
    .enis.find((eni) => eni.eniId === eniId)
    ?.addresses.find(({ ipv4 }) => ipv4 === ip)?.state;

/** A full ENI, and another one with room. */
async function twoEnis(more: Partial<Settings> = {}) {
  const times = { cloudPeriodMs: 600_000, attachTimeoutMs: 20_000, settleTimeoutMs: 20_000 };
  const settings = { minIdle: 0, maxIdle: 0, ...times, ...more };
  const on = await oneNode({ settings, cloud: { reuse: 'soon' } });
  await on.serving();
  const leases = [];
  for (let nth = 0; nth <= LIMIT; nth += 1) leases.push(await on.add(`p${nth}`));
  const [first, last] = [leases[0]?.grant.eni.eniId ?? '', leases.at(-1)?.grant.eni.eniId ?? ''];
  const primary = on.truth().find(({ eniId }) => eniId === first)?.primaryIp;
  const secondary = leases.find(({ grant }) => grant.eni.eniId === first && grant.address.ipv4 !== primary);
  return { on, first, last, taken: secondary?.grant.address.ipv4 ?? '' };
}

t.test(
  'moved: an address that was taken from under a pod is invalid there as soon as another ENI has it',
  async (t) => {
    const { on, first, last, taken } = await twoEnis();
    t.teardown(on.stop);
    t.not(first, last);
    await on.change({ change: 'unassign', eniId: first, ips: [taken] });
    t.equal(stateAt(on, first, taken), 'bound', 'nobody has looked yet');
    const lease = await on.add('late');
    t.same([lease.grant.eni.eniId, lease.grant.address.ipv4], [last, taken], 'the cloud gives it to the other ENI');
    t.equal(stateAt(on, last, taken), 'bound');
    t.equal(stateAt(on, first, taken), 'invalid');
  },
);

t.test('moved: one that nobody held is gone from the book, and nobody is given it there', async (t) => {
  // What rests is nobody's for now, so that the next pod has a new one.
  const { on, first, last, taken } = await twoEnis({ coolDownMs: 600_000, maxIdle: 9 });
  t.teardown(on.stop);
  const holder = on.report().leases.find(({ grant }) => grant.address.ipv4 === taken);
  await on.del(holder?.sandbox.pod.name ?? '');
  t.equal(stateAt(on, first, taken), 'cooling');
  await on.change({ change: 'unassign', eniId: first, ips: [taken] });
  const lease = await on.add('late');
  t.same([lease.grant.eni.eniId, lease.grant.address.ipv4], [last, taken]);
  t.equal(stateAt(on, first, taken), undefined);
});
