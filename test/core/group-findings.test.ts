import t from 'tap';
import { type GroupView, groupFindings } from '../../src/core/group-findings.ts';

const eni = (eniId: string, ...securityGroupIds: string[]) => ({ eniId, type: 'Secondary' as const, securityGroupIds });
const group = (securityGroupId: string, changed: object = {}) => ({
  ...{ securityGroupId, type: 'normal' as const, addresses: 10, addressesAvailable: 1_990 },
  ...changed,
});
const sound: GroupView = {
  groups: [group('sg-1')],
  primary: eni('eni-0', 'sg-1'),
  ours: [eni('eni-1', 'sg-1'), eni('eni-2', 'sg-1')],
  configured: null,
};
const casesOf = (changed: Partial<GroupView>) =>
  groupFindings({ ...sound, ...changed }).map(({ case: name, groupIds, eniIds }) => [name, groupIds, eniIds]);

t.test('P22: groups of which nothing is to be said', async (t) => {
  t.strictSame(casesOf({}), []);
  t.strictSame(casesOf({ groups: [group('sg-1'), group('sg-other', { addressesAvailable: 0 })] }), [], 'not ours');
  t.strictSame(casesOf({ groups: [group('sg-1', { addresses: null, addressesAvailable: null })] }), []);
});

t.test('P22: each case is named with the group and the ENIs that it is about', async (t) => {
  const both = ['eni-1', 'eni-2'];
  t.strictSame(casesOf({ groups: [group('sg-1', { type: 'enterprise' })] }), [['isolates', ['sg-1'], both]]);
  t.strictSame(casesOf({ groups: [group('sg-1', { addresses: 2_000, addressesAvailable: 0 })] }), [
    ['full', ['sg-1'], both],
  ]);
  t.strictSame(casesOf({ groups: [group('sg-1', { addresses: 1_901, addressesAvailable: 99 })] }), [
    ['nearlyFull', ['sg-1'], both],
  ]);
  t.strictSame(casesOf({ groups: [group('sg-1', { addresses: 1_900, addressesAvailable: 100 })] }), []);
  const moved = { primary: eni('eni-0', 'sg-2'), groups: [group('sg-1'), group('sg-2')] };
  t.strictSame(casesOf(moved), [['differs', ['sg-2'], both]], 'the primary’s groups have changed since');
  t.strictSame(casesOf({ ...moved, configured: ['sg-1'] }), [], 'a configured group does not follow the primary');
  t.strictSame(casesOf({ configured: ['sg-9'] }), [
    ['missing', ['sg-9'], []],
    ['differs', ['sg-9'], both],
  ]);
  t.match(groupFindings({ ...sound, groups: [group('sg-1', { addressesAvailable: 0 })] }), [
    { says: /sg-1 is full.*SecurityGroupInstanceLimitExceed/, whatToDo: /another group/ },
  ]);
});
