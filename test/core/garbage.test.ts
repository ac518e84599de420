import t from 'tap';
import {
  goneBy,
  type HeldLease,
  type PodSighting,
  type SecondLook,
  type Suspect,
  suspectsAmong,
  verdictOn,
} from '../../src/core/garbage.ts';

const NODE = 'node-1';
const lease = (name: string, more: Partial<HeldLease> = {}): HeldLease => ({
  sandbox: `c-${name}/eth0`,
  containerId: `c-${name}`,
  ifName: 'eth0',
  pod: { namespace: 'd', name, uid: `u-${name}` },
  boundAtMs: 1,
  ...more,
});
const pod = (name: string, more: Partial<PodSighting> = {}): PodSighting => ({
  ...{ namespace: 'd', name, uid: `u-${name}`, staticUid: null },
  ...{ nodeName: NODE, finished: false, hostNetwork: false },
  ...more,
});

t.test('garbage: a pod that is here and may run again keeps its lease', async (t) => {
  t.equal(goneBy(lease('a'), pod('a'), NODE), null);
  t.equal(goneBy(lease('a', { pod: { namespace: 'd', name: 'a', uid: null } }), pod('a'), NODE), null, 'no UID known');
  t.equal(goneBy(lease('a'), pod('a', { uid: 'mirror', staticUid: 'u-a' }), NODE), null, 'a static pod');
});

t.test('garbage: everything else says why nobody has the lease', async (t) => {
  t.equal(goneBy(lease('a'), null, NODE), 'deleted');
  t.equal(goneBy(lease('a'), pod('a', { finished: true }), NODE), 'finished');
  t.equal(goneBy(lease('a'), pod('a', { uid: 'u2' }), NODE), 'replaced');
  t.equal(goneBy(lease('a'), pod('a', { uid: 'u2', nodeName: 'node-2' }), NODE), 'elsewhere');
  t.equal(goneBy(lease('a'), pod('a', { nodeName: 'node-2' }), NODE), 'elsewhere');
  t.equal(goneBy(lease('a'), pod('a', { uid: 'u2', nodeName: null }), NODE), 'replaced', 'not scheduled yet');
});

t.test('garbage: a list makes suspects of what it lacks, and a newer lease of its pod of an older one', async (t) => {
  const older = lease('b', { sandbox: 'c-old/eth0', containerId: 'c-old', boundAtMs: 0 });
  const other = lease('b', { sandbox: 'c-old/net1', containerId: 'c-old', ifName: 'net1', boundAtMs: 0 });
  const suspects = suspectsAmong([lease('a'), older, lease('b'), other], [pod('b'), pod('x')], NODE);
  t.strictSame(
    suspects.map(({ sandbox, reason }) => `${sandbox} ${reason}`),
    ['c-a/eth0 deleted', 'c-old/eth0 newerSandbox'],
  );
});

t.test('garbage: a lease is gone only if the API server and the kernel agree with the list', async (t) => {
  const suspect: Suspect = { ...lease('a'), reason: 'deleted' };
  const none = { pod: null };
  const still = { runs: false };
  const failure = { failure: { code: 'kubernetes', detail: 'no answer' } } as const;
  const verdict = (api: SecondLook['api'], kernel: SecondLook['kernel'], of = suspect) =>
    verdictOn(of, { sandbox: of.sandbox, api, kernel }, NODE);
  t.strictSame(verdict(none, still), { gone: true, reason: 'deleted' });
  t.match(verdict({ pod: pod('a') }, still), { gone: false, unknown: false });
  t.match(verdict(none, { runs: true }), { gone: false, unknown: false, why: /namespace/ });
  t.match(verdict(failure, still), { gone: false, unknown: true, why: /no answer/ });
  t.match(verdict(none, failure), { gone: false, unknown: true, why: /kernel/ });
  t.strictSame(verdict({ pod: pod('a', { finished: true }) }, still), { gone: true, reason: 'finished' });
  const superseded: Suspect = { ...suspect, reason: 'newerSandbox' };
  t.strictSame(verdict({ pod: pod('a') }, still, superseded), { gone: true, reason: 'newerSandbox' });
  t.match(verdict({ pod: pod('a') }, { runs: true }, superseded), { gone: false });
});
