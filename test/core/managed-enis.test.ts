import t from 'tap';
import type { CloudEni } from '../../src/core/eni.ts';
import {
  builtInBlockList,
  eniCap,
  isManaged,
  managedMax,
  passesTagRules,
  takesPlace,
} from '../../src/core/managed-enis.ts';

const eni = (type: CloudEni['type'], tags: Record<string, string> = {}): CloudEni => ({
  eniId: 'eni-1',
  mac: '00:00:00:00:00:01',
  status: 'InUse',
  type,
  vpcId: 'vpc',
  vSwitchId: 'vsw',
  zoneId: 'z',
  ipv4: ['10.0.0.1'],
  ipv6: [],
  securityGroupIds: [],
  tags,
  instanceId: 'i',
});
const rules = { eniTagFilter: {}, eniTagBlockList: builtInBlockList };

t.test('managedEnis: secondary, matching, not blocked; one with leases in any case', async (t) => {
  t.ok(isManaged(eni('Secondary'), rules, false));
  for (const type of ['Primary', 'Trunk', 'Member'] as const) t.notOk(isManaged(eni(type), rules, true), type);
  for (const { key, value } of builtInBlockList) {
    t.notOk(isManaged(eni('Secondary', { [key]: value }), rules, false), key);
    t.ok(isManaged(eni('Secondary', { [key]: value }), rules, true), `${key}, with pods on it`);
    t.ok(isManaged(eni('Secondary', { [key]: 'other' }), rules, false), `${key} of another value`);
  }
  const filter = { eniTagFilter: { a: '1', b: '' }, eniTagBlockList: [] };
  t.ok(passesTagRules({ a: '1', b: '', c: '3' }, filter));
  t.notOk(passesTagRules({ a: '1' }, filter), 'an empty value has to be there too');
  t.notOk(passesTagRules({ a: '2', b: '' }, filter));
  t.notOk(passesTagRules({}, { eniTagFilter: { constructor: 'x' }, eniTagBlockList: [] }));
});

t.test('managedEnis: members of a trunk take no place of the instance', async (t) => {
  t.same(
    (['Primary', 'Secondary', 'Trunk', 'Member'] as const).map((type) => takesPlace(eni(type))),
    [false, true, true, false],
  );
});

t.test('managedEnis: the cap is Terway’s formula, and never more than the type has places for', async (t) => {
  const caps = { eniCapRatio: 1, eniCapShift: 0, maxEnis: null };
  const table: [number, Partial<typeof caps> | { maxEnis: number }, number][] = [
    [4, {}, 3],
    [4, { maxEnis: 2 }, 2],
    [4, { maxEnis: 9 }, 3],
    [5, { eniCapRatio: 0.5 }, 1],
    [5, { eniCapRatio: 0.5, eniCapShift: 1 }, 2],
    [4, { eniCapShift: 5 }, 3],
    [4, { eniCapShift: -9 }, 0],
    [1, {}, 0],
    [0, {}, 0],
  ];
  for (const [enis, change, cap] of table)
    t.equal(eniCap(enis, { ...caps, ...change }), cap, `${enis} ${JSON.stringify(change)}`);
  t.equal(managedMax({ eniCap: 2, eniPlaces: 3, foreignEnis: 0 }), 2);
  t.equal(managedMax({ eniCap: 2, eniPlaces: 3, foreignEnis: 1 }), 2, 'a foreign one may take the place we may not');
  t.equal(managedMax({ eniCap: 2, eniPlaces: 3, foreignEnis: 2 }), 1);
  t.equal(managedMax({ eniCap: 2, eniPlaces: 3, foreignEnis: 9 }), 0);
});
