import t from 'tap';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { withAddNotices } from '../../src/daemon/add-notices.ts';
import { Notices } from '../../src/daemon/notices.ts';
import type { KubeEvent } from '../../src/ports/kubernetes.ts';
import { fakeBackend, fullReply } from '../adapters/http/fake-backend.ts';

const { signal: never } = new AbortController();
const about = (name: string, message = 'why'): KubeEvent => ({
  target: { kind: 'pod', namespace: 'default', name, uid: null },
  ...{ type: 'Warning', reason: 'AllocIPFailed', message },
});

function scene() {
  let nowMs = 0;
  const written: KubeEvent[] = [];
  const lines: object[] = [];
  let failure: Error | null = null;
  const notices = new Notices({
    kubernetes: {
      async recordEvent(event) {
        if (failure !== null) throw failure;
        written.push(event);
      },
    },
    clock: { nowMs: () => nowMs },
    log: { ...silentLog, warn: (fields: object) => void lines.push(fields) },
  });
  return {
    ...{ notices, written, lines },
    after: (ms: number) => {
      nowMs += ms;
    },
    fail: (error: Error | null) => {
      failure = error;
    },
  };
}

t.test(
  'notices: what comes again is one with a count and the newest words, and is not written again at once',
  async (t) => {
    const { notices, written, after } = scene();
    notices.tell(about('a', 'first'));
    await notices.write(never);
    for (const words of ['second', 'third', 'fourth']) notices.tell(about('a', words));
    notices.tell(about('b'));
    await notices.write(never);
    t.match(written, [{ message: 'first', times: 1 }, { target: { name: 'b' } }]);
    after(9_999);
    await notices.write(never);
    t.equal(written.length, 2);
    after(1);
    await notices.write(never);
    t.match(written[2], { target: { name: 'a' }, message: 'fourth', times: 3 });
  },
);

t.test(
  'notices: never a flood, never more than may wait, and a server that is away costs one try at a time',
  async (t) => {
    const { notices, written, lines, after, fail } = scene();
    for (let nth = 0; nth < 1_000; nth += 1) notices.tell(about(`p${nth}`));
    await notices.write(never);
    t.equal(written.length, 20, 'at once');
    t.match(lines, [{ events: 1_000 - 256 }]);
    for (let second = 0; second < 10; second += 1) {
      after(1_000);
      await notices.write(never);
    }
    t.equal(written.length, 20 + 10 * 4, 'and so many a second');
    fail(new Error('away'));
    after(1_000);
    await notices.write(never);
    fail(null);
    await notices.write(never);
    t.equal(written.length, 60 + 3, 'one was lost, the others are not');
  },
);

t.test('notices of ADDs: how long it took, why not, why not yet; of a repeated ADD nothing', async (t) => {
  const told: KubeEvent[] = [];
  let nowMs = 0;
  let answer: () => unknown = () => fullReply;
  const served = new Set<string>();
  const { backend } = fakeBackend(async () => answer());
  const over = withAddNotices(backend, {
    notices: { tell: (event) => void told.push(event) },
    copies: { there: ({ uid }) => (uid === 'hash-of-a-file' ? ({ uid: 'uid-of-the-mirror' } as never) : null) },
    clock: { nowMs: () => nowMs },
    afterMs: 20,
    why: (pod) => `${pod} waits for an ENI`,
    isServed: (containerId) => served.has(containerId),
  });
  const request = {
    ...{ K8sPodName: 'p', K8sPodNamespace: 'default', K8sPodInfraContainerId: 's', Netns: '/n', IfName: 'eth0' },
    PodUid: 'hash-of-a-file',
  };
  const add = () => over.AllocIP(request, { signal: never, untilMs: 0 });
  answer = () => {
    nowMs += 1_234;
    return fullReply;
  };
  await add();
  t.match(told.at(-1), {
    target: { kind: 'pod', namespace: 'default', name: 'p', uid: 'uid-of-the-mirror' },
    ...{ type: 'Normal', reason: 'AllocIPSucceed', message: 'Alloc IP 192.168.0.12/24 took 1.2s' },
  });
  answer = () => {
    throw new EnactorError('vSwitchEmpty', 'InvalidVSwitchId.IpNotEnough (request r-1)');
  };
  await t.rejects(add());
  t.match(told.at(-1), { type: 'Warning', reason: 'AllocIPFailed', message: /IpNotEnough \(request r-1\)/ });
  const before = told.length;
  answer = () => {
    throw new EnactorError('cancelled', 'the caller went away');
  };
  await t.rejects(add());
  t.equal(told.length, before, 'a caller that left is no news');
  let let_go = () => {};
  answer = () =>
    new Promise((resolve) => {
      let_go = () => resolve(fullReply);
    });
  const waiting = add();
  while (!told.some(({ reason }) => reason === 'AllocIPPending'))
    await new Promise((resolve) => setTimeout(resolve, 5));
  t.match(told.at(-1)?.message, /^no address yet after \d+m?s: default\/p waits for an ENI$/);
  let_go();
  await waiting;
  served.add('s');
  const all = told.length;
  answer = () => fullReply;
  await add();
  t.equal(told.length, all, 'the same answer again');
});
