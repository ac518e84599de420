import t from 'tap';
import { EnactorError } from '../../src/core/errors.ts';
import { Refusals } from '../../src/daemon/refusals.ts';
import { fakeBackend } from '../adapters/http/fake-backend.ts';

const full = () => new EnactorError('noCapacity', 'no address available: 12 held on 3 of 3 ENIs with 4 each');
const call = () => ({ signal: new AbortController().signal, untilMs: 0 });
const asks = (name: string) => ({
  K8sPodName: name,
  K8sPodNamespace: 'default',
  K8sPodInfraContainerId: 'c',
  Netns: '',
  IfName: '',
});

function scene() {
  let nowMs = 1_000;
  const refusals = new Refusals({ nowMs: () => nowMs });
  let answer: () => unknown = () => {
    throw full();
  };
  const backend = refusals.over(fakeBackend(() => answer()).backend);
  return {
    refusals,
    backend,
    pass: (ms: number) => {
      nowMs += ms;
    },
    from: (next: () => unknown) => {
      answer = next;
    },
  };
}

t.test('refusals: one a pod with how often, until it gets an address', async (t) => {
  const { refusals, backend, pass, from } = scene();
  for (const pod of ['a', 'b', 'a']) {
    await t.rejects(backend.AllocIP(asks(pod), call()), { code: 'noCapacity' });
    pass(500);
  }
  t.match(refusals.list(), [
    { pod: 'default/a', atMs: 2_000, times: 2, code: 'noCapacity', detail: /^no address available: 12 held/ },
    { pod: 'default/b', atMs: 1_500, times: 1 },
  ]);
  from(() => ({ Success: true }));
  await backend.ReleaseIP(asks('a'), call());
  t.equal(refusals.list().length, 2, 'a DEL of the failed sandbox says nothing about the next try');
  await backend.AllocIP(asks('a'), call());
  t.strictSame(
    refusals.list().map(({ pod }) => pod),
    ['default/b'],
  );
});

t.test('refusals: forgotten after some minutes, and never many', async (t) => {
  const { refusals, backend, pass } = scene();
  for (let index = 0; index < 100; index += 1) await backend.AllocIP(asks(`p${index}`), call()).catch(() => {});
  t.equal(refusals.list().length, 64);
  t.equal(refusals.list()[0]?.pod, 'default/p99');
  pass(5 * 60_000 + 1);
  t.strictSame(refusals.list(), []);
});

t.test('refusals: a caller that gave up was not refused, and long names are not kept', async (t) => {
  const { refusals, backend, from } = scene();
  await t.rejects(backend.AllocIP(asks('x'.repeat(2_000)), call()));
  from(() => {
    throw new EnactorError('cancelled', 'the caller gave up');
  });
  await t.rejects(backend.AllocIP(asks('a'), call()), { code: 'cancelled' });
  t.strictSame(refusals.list(), []);
});
