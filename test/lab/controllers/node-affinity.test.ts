/** Nodes are chosen by selector and required affinity as Kubernetes chooses them. */
import { test } from 'tap';
import type { Json, JsonObject, KubeObject } from '../../../src/lab/apiserver/kube-object.ts';
import { isWanted } from '../../../src/lab/controllers/node-affinity.ts';

const node = (labels?: Readonly<Record<string, string>>): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Node' },
  metadata: { name: 'n', uid: 'n', resourceVersion: '1', creationTimestamp: '', ...(labels && { labels }) },
});
const required = (...nodeSelectorTerms: readonly JsonObject[]): JsonObject => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const asks = (key: string, operator: string, ...values: readonly Json[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});

test('node affinity: each operator, for a label that is listed, another one, and none', async (t) => {
  const nodes = [node({ cni: 'ours' }), node({ cni: 'theirs' }), node()];
  for (const [operator, values, wanted] of [
    ['In', ['ours', 'x'], [true, false, false]],
    ['NotIn', ['ours', 'x'], [false, true, true]],
    ['Exists', [], [true, true, false]],
    ['DoesNotExist', [], [false, false, true]],
    ['Gt', ['1'], [false, false, false]],
  ] as const)
    t.strictSame(
      nodes.map((one) => isWanted(required(asks('cni', operator, ...values)), one)),
      wanted,
      operator,
    );
});

test('node affinity: terms are alternatives, what one asks must all hold, and the selector besides', async (t) => {
  const both = { matchExpressions: [asks('a', 'Exists'), asks('b', 'Exists')].flatMap((one) => one.matchExpressions) };
  t.notOk(isWanted(required(both), node({ a: '' })));
  t.ok(isWanted(required(both), node({ a: '', b: '' })));
  t.ok(isWanted(required(both, asks('c', 'Exists')), node({ c: '' })));
  t.notOk(isWanted(required({}), node({ a: '' })), 'a term that asks nothing');
  t.notOk(isWanted(required(), node()), 'no term at all');
  t.notOk(isWanted({ ...required(asks('c', 'Exists')), nodeSelector: { d: '1' } }, node({ c: '', d: '2' })));
  t.ok(isWanted({}, node()));
});
