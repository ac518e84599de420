import t from 'tap';
import type { CloudEni } from '../../src/core/eni.ts';
import { doubtOf, instancesNamed, orphansOfBoth, verdictsOn } from '../../src/core/orphan-enis.ts';

let made = 0;
function eni(over: Partial<CloudEni> & { readonly by?: string } = {}): CloudEni {
  made += 1;
  const { by = 'i-gone', ...rest } = over;
  return {
    ...{ eniId: `eni-${made}`, mac: `00:16:3e:00:00:${made}`, status: 'Available', type: 'Secondary' },
    ...{ vpcId: 'vpc', vSwitchId: 'vsw', zoneId: 'z', ipv4: [], ipv6: [], securityGroupIds: [], instanceId: null },
    tags: { creator: 'enactor', 'enactor/cluster': 'prod', ...(by === '' ? {} : { 'enactor/instance': by }) },
    ...rest,
  };
}

const there = new Set(['i-here']);
const why = (one: CloudEni) => verdictsOn({ enis: [one], there }).map(({ orphan, why }) => [orphan, why])[0];

t.test('orphans: attached nowhere, and of an instance that does not exist', async (t) => {
  t.strictSame(why(eni()), [true, 'i-gone is gone']);
  t.strictSame(why(eni({ by: 'i-here' })), [false, 'its node exists']);
  t.strictSame(why(eni({ by: '' })), [false, 'its tags do not say which node made it']);
  t.strictSame(why(eni({ instanceId: 'i-here', status: 'InUse' })), [false, 'attached to i-here'], 'somebody has it');
  t.strictSame(why(eni({ status: 'Deleting' })), [false, 'it is Deleting']);
  t.strictSame(why(eni({ type: 'Trunk' })), [false, 'its type is Trunk']);
});

t.test('orphans: both looks have to agree', async (t) => {
  const [a, b, c] = [eni(), eni(), eni()];
  const first = verdictsOn({ enis: [a, b], there });
  const second = verdictsOn({ enis: [a, { ...b, instanceId: 'i-here', status: 'InUse' }, c], there });
  t.strictSame(
    orphansOfBoth(first, second).map((one) => one.eni.eniId),
    [a.eniId],
  );
});

t.test('orphans: an answer that denies an instance which has an ENI is not believed', async (t) => {
  const attached = eni({ by: 'i-here', instanceId: 'i-here', status: 'InUse' });
  t.strictSame(instancesNamed([attached, eni(), eni({ by: '' })]), ['i-gone', 'i-here']);
  t.equal(doubtOf({ enis: [attached, eni()], there }, false), null);
  t.match(doubtOf({ enis: [attached, eni()], there: new Set() }, true), /denies i-here/, 'whatever a person says');
  t.match(doubtOf({ enis: [eni()], there: new Set() }, false), /no ENI of the cluster is attached/);
  t.equal(doubtOf({ enis: [eni()], there: new Set() }, true), null, 'a person says that no node is left');
});
