import t from 'tap';
import { SharedLooks } from '../../actors/shared-looks.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import type { EniFilter } from '../../src/ports/cloud.ts';

const never = new AbortController().signal;
const cloudEni = (eniId: string, ipv4: readonly string[]): CloudEni => ({
  ...{ eniId, mac: '', status: 'InUse', type: 'Secondary', vpcId: '', vSwitchId: '', zoneId: '', ipv4, ipv6: [] },
  ...{ securityGroupIds: [], tags: {}, instanceId: 'i-1' },
});
const book = (...ipv4: string[]) => ({ ipv4, ipv6: [] });

function looks() {
  const time = { nowMs: 1_000 };
  const asked: EniFilter[] = [];
  const there = new Map([
    ['eni-1', ['10.0.0.1']],
    ['eni-2', ['10.0.0.2']],
  ]);
  const state = { fails: false };
  const shared = new SharedLooks({
    cloud: {
      describeEnis: async (filter, signal) => {
        asked.push(filter);
        await new Promise((resolve) => setImmediate(resolve));
        if (state.fails || signal.aborted) throw new Error('away');
        return (filter.eniIds ?? []).flatMap((id) => (there.has(id) ? [cloudEni(id, there.get(id) ?? [])] : []));
      },
    },
    clock: { nowMs: () => time.nowMs },
    known: () => new Set(['eni-1', 'eni-2']),
    keptMs: () => 100,
  });
  return { time, asked, there, state, shared };
}

t.test('shared looks: one Describe serves all ENIs of the node, also soon after', async (t) => {
  const { time, asked, shared } = looks();
  const [one, two] = await Promise.all([
    shared.shown('eni-1', book('10.0.0.1'), never),
    shared.shown('eni-2', book('10.0.0.2'), never),
  ]);
  t.match([one, two], [{ eni: { eniId: 'eni-1' } }, { eni: { eniId: 'eni-2' } }]);
  time.nowMs += 60;
  t.match(await shared.shown('eni-2', book('10.0.0.2'), never), { askedMs: 1_000 }, 'and it is told how old it is');
  t.strictSame(asked, [{ eniIds: ['eni-1', 'eni-2'], background: true }]);
  time.nowMs += 60;
  await shared.shown('eni-2', book('10.0.0.2'), never);
  t.equal(asked.length, 2, 'what is old is asked anew');
});

t.test('shared looks: what differs from the book is no news before it was asked for anew', async (t) => {
  const { time, asked, there, shared } = looks();
  await shared.shown('eni-1', book('10.0.0.1'), never);
  // An Assign of ours.
  there.set('eni-2', ['10.0.0.2', '10.0.0.3']);
  time.nowMs += 1;
  const shown = await shared.shown('eni-2', book('10.0.0.2', '10.0.0.3'), never);
  t.match(shown, { askedMs: 1_001, eni: { ipv4: ['10.0.0.2', '10.0.0.3'] } });
  t.equal(asked.length, 2);
  there.delete('eni-1');
  t.match(await shared.shown('eni-1', book('10.0.0.1', '10.0.0.9'), never), { eni: null });
});

t.test('shared looks: one that fails, or is given up, is its asker’s alone', async (t) => {
  const { asked, state, shared } = looks();
  const given = new AbortController();
  const left = shared.shown('eni-1', book('10.0.0.1'), given.signal);
  const other = shared.shown('eni-2', book('10.0.0.2'), never);
  given.abort();
  await t.rejects(left);
  t.match(await other, { eni: { eniId: 'eni-2' } });
  t.equal(asked.length, 2);
  state.fails = true;
  await t.rejects(shared.shown('eni-2', book('10.0.0.7'), never));
});
