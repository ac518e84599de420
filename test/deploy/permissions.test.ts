/** What an account has to allow is what the daemon asks for: no call without an action, and no action without a call. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { apiRates, operatorApiRates } from '../../src/core/api-rates.ts';
import { mutates } from '../../src/vpc/model.ts';

type Statement = { readonly Effect: string; readonly Action: readonly string[]; readonly Resource: string };
const { Statement: statements } = JSON.parse(readFileSync('deploy/ram-policy.json', 'utf8')) as {
  readonly Statement: readonly Statement[];
};
/** VSwitches are of the VPC's API, all else of ECS. */
const actionOf = (api: string): string => `${api === 'DescribeVSwitches' ? 'vpc' : 'ecs'}:${api}`;

t.test('permissions: the RAM policy allows every API that the daemon calls, and nothing else', async (t) => {
  const allowed = statements.flatMap(({ Effect, Action }) => (Effect === 'Allow' ? Action : []));
  t.strictSame(allowed.toSorted(), Object.keys(apiRates).map(actionOf).toSorted());
  t.equal(new Set(allowed).size, allowed.length, 'none twice');
});

t.test(
  'permissions: what changes something is a statement of its own, which a node in read-only mode does without',
  async (t) => {
    const [changing, looking] = statements;
    t.equal(statements.length, 2);
    for (const action of changing?.Action ?? [])
      t.ok(mutates(action.split(':')[1] as Parameters<typeof mutates>[0]), action);
    for (const action of looking?.Action ?? [])
      t.notOk(mutates(action.split(':')[1] as Parameters<typeof mutates>[0]), action);
  },
);

t.test('permissions: the sweep of what dead nodes left is allowed what it calls, and nothing else', async (t) => {
  const { Statement: sweeping } = JSON.parse(readFileSync('deploy/ram-policy-sweep.json', 'utf8')) as {
    readonly Statement: readonly Statement[];
  };
  // What test/cases/g08 sees it call.
  const called = ['DeleteNetworkInterface', 'DescribeNetworkInterfaces', ...Object.keys(operatorApiRates)];
  t.strictSame(sweeping.flatMap(({ Action }) => Action).toSorted(), called.map(actionOf).toSorted());
});
