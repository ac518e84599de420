import t from 'tap';
import type { CloudEni } from '../../src/core/eni.ts';
import { believed, isAsKnown } from '../../src/core/two-witnesses.ts';

const eni = (ipv4: readonly string[], more: Partial<CloudEni> = {}): CloudEni => ({
  eniId: 'eni-1',
  mac: '00:16:3e:00:00:01',
  status: 'InUse',
  type: 'Secondary',
  vpcId: 'vpc-1',
  vSwitchId: 'vsw-1',
  zoneId: 'z',
  ipv4,
  ipv6: [],
  securityGroupIds: [],
  tags: {},
  instanceId: 'i-1',
  ...more,
});
const owned = (...ipv4: string[]) => ({ ipv4, ipv6: [] });

t.test('two witnesses: an address is gone, or there, when both say so', async (t) => {
  const known = owned('a', 'b', 'c');
  t.ok(isAsKnown(eni(['c', 'b', 'a']), known));
  t.notOk(isAsKnown(eni(['a', 'b']), known));
  t.match(believed(eni(['a', 'b', 'd']), known, owned('a', 'b', 'd')), {
    agreed: true,
    eni: { ipv4: ['a', 'b', 'd'] },
  });
  const alone = believed(eni(['a', 'b', 'd']), known, owned('a', 'b', 'c'));
  t.strictSame(alone.agreed && alone.eni?.ipv4, ['a', 'b', 'c'], 'neither the loss nor the gain is believed');
  const half = believed(eni(['a', 'd']), known, owned('a', 'b', 'd'));
  t.strictSame(half.agreed && half.eni?.ipv4, ['a', 'd', 'b']);
});

t.test(
  'two witnesses: without a second one the first is believed, and who disputes an ENI proves nothing',
  async (t) => {
    const known = owned('a');
    const alone = believed(eni([]), known, null);
    t.strictSame([alone.agreed, alone.agreed && alone.eni?.ipv4], [true, []]);
    t.strictSame(believed(null, known, null), { agreed: true, eni: null });
    t.strictSame(believed(null, known, owned('a')), { agreed: false });
    t.strictSame(believed(eni(['a'], { status: 'Available' }), known, owned('a')), { agreed: false });
  },
);
