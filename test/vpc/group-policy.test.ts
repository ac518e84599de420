import t from 'tap';
import { groupsAccept } from '../../src/vpc/group-policy.ts';

const normal = (securityGroupId: string, ...accepts: string[]) => ({
  securityGroupId,
  type: 'normal' as const,
  accepts,
});
const enterprise = (securityGroupId: string, ...accepts: string[]) => ({
  ...{ securityGroupId, type: 'enterprise' as const, accepts },
});

t.test('groups: members of a normal group reach each other, those of an enterprise group only by a rule', async (t) => {
  t.equal(groupsAccept(['a'], [normal('a')]), true);
  t.equal(groupsAccept(['a'], [enterprise('a')]), false);
  t.equal(groupsAccept(['a'], [enterprise('a', 'a')]), true);
  t.equal(groupsAccept(['a'], [normal('b')]), false);
  t.equal(groupsAccept(['a'], [normal('b', 'a')]), true);
  t.equal(groupsAccept([], [normal('b', 'any')]), true);
  t.equal(groupsAccept(['a'], [enterprise('x'), normal('a')]), true, 'one group that accepts is enough');
  t.equal(groupsAccept(['a'], []), false);
});
