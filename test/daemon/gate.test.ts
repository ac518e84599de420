import t from 'tap';
import { Gate } from '../../src/daemon/gate.ts';
import { fakeBackend, whenAborted } from '../adapters/http/fake-backend.ts';

const request = { K8sPodName: 'p', K8sPodNamespace: 'd', K8sPodInfraContainerId: 'c' };
const call = () => ({ signal: new AbortController().signal, untilMs: 0 });

t.test('gate: unavailable before it opens and after it shuts, with the reason', async (t) => {
  const gate = new Gate();
  await t.rejects(gate.front.ReleaseIP(request, call()), { code: 'notReady', detail: 'the daemon is starting' });
  gate.open(fakeBackend(() => ({ Success: true })).backend);
  for (const ask of [gate.front.ReleaseIP, gate.front.GetIPInfo])
    t.strictSame(await ask(request, call()), { Success: true });
  t.strictSame(await gate.front.AllocIP({ ...request, Netns: '', IfName: '' }, call()), { Success: true });
  t.strictSame(await gate.front.RecordEvent({}, call()), { Success: true });
  gate.shut('the daemon is stopping');
  await t.rejects(gate.front.ReleaseIP(request, call()), { code: 'notReady', detail: 'the daemon is stopping' });
});

t.test('gate: what is under way when it shuts goes on, until all calls are ended', async (t) => {
  const gate = new Gate();
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { backend, seen } = fakeBackend(async ({ request: { K8sPodName }, call: { signal } }) => {
    await (K8sPodName === 'quick' ? finished : whenAborted(signal));
    return { Success: true };
  });
  gate.open(backend);
  const quick = gate.front.ReleaseIP({ ...request, K8sPodName: 'quick' }, call());
  const stuck = gate.front.ReleaseIP(request, call());
  gate.shut('the daemon is stopping');
  finish();
  t.strictSame(await quick, { Success: true });
  gate.endCalls();
  await t.rejects(stuck, { code: 'notReady', detail: 'the daemon is stopping' });
  t.equal(seen[1]?.call.signal.aborted, true, 'the backend hears of it');
});

t.test('gate: the caller’s signal reaches the backend', async (t) => {
  const gate = new Gate();
  const { backend } = fakeBackend(async ({ call: { signal } }) => {
    await whenAborted(signal);
    throw signal.reason;
  });
  gate.open(backend);
  const caller = new AbortController();
  const waiting = gate.front.ReleaseIP(request, { signal: caller.signal, untilMs: 0 });
  caller.abort(new Error('gone'));
  await t.rejects(waiting, { message: 'gone' });
});
