/** P17: who has the token of one node writes to that node and its pods alone, and only what the daemon writes. */
import { readFileSync } from 'node:fs';
import { loadAllYaml } from '@kubernetes/client-node';
import t from 'tap';
import { cel } from '../../src/lab/apiserver/cel.ts';

type Named = { readonly name: string; readonly expression: string };
type Policy = {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly failurePolicy: string;
    readonly policyName: string;
    readonly validationActions: readonly string[];
    readonly matchConditions: readonly Named[];
    readonly variables: readonly Named[];
    readonly validations: readonly { readonly expression: string; readonly message: string }[];
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly operations: readonly string[];
        readonly resources: readonly string[];
      }[];
    };
  };
};
const [policy, binding] = loadAllYaml(readFileSync('deploy/base/own-node-only.yaml', 'utf8')) as readonly Policy[];
if (policy === undefined || binding === undefined) throw new Error('a policy and its binding');

const NODE = 'authentication.kubernetes.io/node-name';
const DAEMON = 'system:serviceaccount:kube-system:enactor';
type Asked = {
  readonly resource: string;
  readonly subResource?: string;
  readonly before?: object | null;
  readonly after: object;
  readonly token?: Readonly<Record<string, readonly string[]>>;
  readonly username?: string;
};

/** What the policy says of a request; null when it lets it pass, or is not about it. */
function refused({
  resource,
  subResource = '',
  before = null,
  after,
  token = { [NODE]: ['n1'] },
  username = DAEMON,
}: Asked): string | null {
  const request = { resource: { resource }, subResource, userInfo: { username, extra: token } };
  const of = { request, object: after, oldObject: before };
  if (!policy?.spec.matchConditions.every(({ expression }) => cel(expression)(of) === true)) return null;
  let variables = {};
  for (const { name, expression } of policy.spec.variables)
    variables = { ...variables, [name]: cel(expression)({ ...of, variables }) };
  const found = policy.spec.validations.find(({ expression }) => {
    try {
      return cel(expression)({ ...of, variables }) !== true;
    } catch {
      return true; // failurePolicy: Fail
    }
  });
  return found?.message ?? null;
}

const pod = (nodeName: string, annotations = {}, labels = {}, image = 'web:1') => ({
  metadata: { name: 'web-1', annotations, labels },
  spec: { nodeName, containers: [{ name: 'web', image }] },
});
const ips = { 'k8s.aliyun.com/pod-ips': '10.0.0.4' };
const node = (name: string, { taints = [] as object[], labels = {}, unschedulable = false } = {}) => ({
  metadata: { name, labels, annotations: { 'k8s.aliyun.com/max-available-ip': '12' } },
  spec: { taints, ...(unschedulable && { unschedulable }) },
});
const full = { key: 'enactor/full', effect: 'NoSchedule' };
const theirs = { key: 'dedicated', effect: 'NoSchedule' };

t.test('P17: what the daemon does passes', async (t) => {
  t.equal(
    refused({ resource: 'pods', before: pod('n1'), after: pod('n1', ips) }),
    null,
    'the addresses of a pod of its node',
  );
  t.equal(refused({ resource: 'pods', before: pod('n1', { ...ips, a: '1' }), after: pod('n1', { a: '1' }) }), null);
  t.equal(
    refused({
      resource: 'nodes',
      before: node('n1', { taints: [theirs] }),
      after: node('n1', { taints: [theirs, full] }),
    }),
    null,
  );
  t.equal(
    refused({ resource: 'nodes', before: node('n1', { taints: [full] }), after: node('n1') }),
    null,
    'the taint goes',
  );
  t.equal(refused({ resource: 'nodes', subResource: 'status', before: node('n1'), after: node('n1') }), null);
  t.equal(
    refused({ resource: 'events', after: { metadata: {}, source: { component: 'enactord', host: 'n1' } } }),
    null,
  );
});

t.test('P17: pods and nodes of others, and what is not the daemon’s to write, are refused', async (t) => {
  const pods = (before: object, after: object) => refused({ resource: 'pods', before, after });
  t.match(pods(pod('n2'), pod('n2', ips)), /of another node/);
  t.match(pods({ metadata: {}, spec: {} }, { metadata: {}, spec: {} }), /of another node/, 'a pod of no node yet');
  t.match(pods(pod('n1'), pod('n1', {}, {}, 'evil:1')), /only the annotation/, 'the image may be changed by an update');
  t.match(pods(pod('n1'), pod('n1', {}, { app: 'payments' })), /only the annotation/, 'labels choose services');
  t.match(pods(pod('n1'), pod('n1', { 'k8s.aliyun.com/ENI': 'true' })), /only the annotation/);
  t.match(pods(pod('n1', { keep: '1' }), pod('n1')), /only the annotation/);
  t.match(pods(pod('n1'), { ...pod('n1'), metadata: { name: 'web-1', finalizers: ['x'] } }), /only the annotation/);
  const nodes = (before: object, after: object) => refused({ resource: 'nodes', before, after });
  t.match(nodes(node('n2'), node('n2')), /another one/);
  t.match(refused({ resource: 'nodes', subResource: 'status', before: node('n2'), after: node('n2') }), /another one/);
  t.match(nodes(node('n1'), node('n1', { labels: { role: 'master' } })), /only annotations and the taint/);
  t.match(
    nodes(node('n1', { taints: [theirs] }), node('n1')),
    /only annotations and the taint/,
    'another’s taint stays',
  );
  t.match(nodes(node('n1'), node('n1', { taints: [theirs] })), /only annotations and the taint/);
  t.match(nodes(node('n1', { unschedulable: true }), node('n1')), /only annotations and the taint/);
  t.match(refused({ resource: 'events', after: { metadata: {}, source: { host: 'n2' } } }), /another node/);
  t.match(refused({ resource: 'events', after: { metadata: {} } }), /another node/);
});

t.test('P17: a token that names no node may write nothing; other people are none of its business', async (t) => {
  t.match(refused({ resource: 'pods', before: pod('n1'), after: pod('n1', ips), token: {} }), /names no node/);
  const others = { username: 'system:serviceaccount:default:web', token: {} };
  t.equal(refused({ resource: 'pods', before: pod('n2'), after: pod('n2', {}, {}, 'web:2'), ...others }), null);
});

t.test('P17: the policy is bound, denies, and covers every write of the daemon', async (t) => {
  t.equal(binding.spec.policyName, policy.metadata.name);
  t.strictSame(binding.spec.validationActions, ['Deny']);
  t.equal(policy.spec.failurePolicy, 'Fail');
  const covered = policy.spec.matchConstraints.resourceRules.flatMap(({ operations, resources }) =>
    resources.flatMap((resource) => operations.map((operation) => `${operation} ${resource}`)),
  );
  // A patch is an update to admission. Source: Kubernetes, ValidatingAdmissionPolicy, operations.
  for (const each of ['UPDATE pods', 'UPDATE nodes', 'UPDATE nodes/status', 'CREATE events', 'UPDATE events'])
    t.ok(covered.includes(each), each);
});
