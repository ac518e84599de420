import t from 'tap';
import { type Answer, CloudGateway } from '../../src/vpc/gateway.ts';
import type { ApiName, Input } from '../../src/vpc/requests.ts';
import { CREATE, DESCRIBE_ENIS, NODE_1, smallWorld } from './small-world.ts';

function gateway(settings = {}) {
  const world = smallWorld({ settings });
  const gateway = new CloudGateway(world.model);
  const call = <A extends ApiName>(
    nowMs: number,
    api: A,
    input: Input<A>,
    more: { clientToken?: string; params?: Record<string, string> } = {},
  ): Answer<A> => {
    const result = gateway.call(
      { api, input, params: more.params ?? {}, clientToken: more.clientToken ?? null },
      nowMs,
    );
    if (result.kind === 'held') throw new Error('held');
    return result;
  };
  const outcome = (answer: Answer<ApiName>) =>
    answer.result.ok ? 'ok' : `${answer.result.status} ${answer.result.code}`;
  const secondaries = (nowMs: number) => world.model.truth(nowMs).enis.filter((eni) => eni.type === 'Secondary');
  return { ...world, gateway, call, outcome, secondaries };
}

t.test('ClientToken: the same request gets the same answer, and one ENI is made', async (t) => {
  const { call, secondaries, gateway: front } = gateway();
  const first = call(0, 'CreateNetworkInterface', CREATE, { clientToken: 'a' });
  const again = call(10, 'CreateNetworkInterface', { ...CREATE }, { clientToken: 'a' });
  t.same(again.result, first.result);
  t.not(again.requestId, first.requestId);
  t.equal(again.answerMs, 110);
  t.equal(secondaries(200).length, 1);
  t.same(
    front.ledger.read(0, null).map((entry) => [entry.changed, entry.replayed]),
    [
      [true, false],
      [false, true],
    ],
  );
});

t.test('ClientToken: an answer from before is not given earlier than the first one', async (t) => {
  const { call, gateway: front } = gateway();
  front.faults.plant({ api: '*', times: 1, params: {}, effect: 'delay', ms: 5_000 });
  call(0, 'CreateNetworkInterface', CREATE, { clientToken: 'a' });
  t.equal(call(10, 'CreateNetworkInterface', CREATE, { clientToken: 'a' }).answerMs, 5_100);
});

t.test('ClientToken: another request with it is a mismatch, and a failed one cannot be had again', async (t) => {
  const { call, outcome } = gateway();
  call(0, 'CreateNetworkInterface', CREATE, { clientToken: 'a' });
  const other = { ...CREATE, ipv4: { count: 1 } };
  t.equal(outcome(call(0, 'CreateNetworkInterface', other, { clientToken: 'a' })), '400 IdempotentParameterMismatch');
  const bad = { ...CREATE, vSwitchId: 'vsw-none' };
  t.equal(outcome(call(0, 'CreateNetworkInterface', bad, { clientToken: 'b' })), '404 InvalidVSwitchId.NotFound');
  t.equal(outcome(call(0, 'CreateNetworkInterface', bad, { clientToken: 'b' })), '400 IdempotentFailed');
  t.equal(outcome(call(0, 'CreateNetworkInterface', CREATE, { clientToken: 'x'.repeat(65) })), '400 InvalidParameter');
});

t.test('ClientToken: a conflict or an injected refusal leaves it fresh', async (t) => {
  const { call, outcome, create, gateway: front } = gateway();
  const { eniId } = create(0);
  const input = { eniId, want: { count: 1 } };
  call(1_000, 'AssignPrivateIpAddresses', input, { clientToken: 'a' });
  t.equal(outcome(call(1_050, 'AssignPrivateIpAddresses', input, { clientToken: 'b' })), '403 Operation.Conflict');
  t.equal(outcome(call(1_100, 'AssignPrivateIpAddresses', input, { clientToken: 'b' })), 'ok');
  front.faults.plant({
    api: '*',
    times: 1,
    params: {},
    effect: 'fail',
    code: 'InternalError',
    status: null,
    message: null,
  });
  t.equal(outcome(call(2_000, 'AssignPrivateIpAddresses', input, { clientToken: 'c' })), '500 InternalError');
  t.equal(outcome(call(2_000, 'AssignPrivateIpAddresses', input, { clientToken: 'c' })), 'ok');
});

t.test('faults: a failure is answered so many times, on what matches, and carries nothing out', async (t) => {
  const { call, outcome, secondaries, gateway: front } = gateway();
  front.faults.plant({
    api: 'CreateNetworkInterface',
    times: 2,
    params: { VSwitchId: 'vsw-lab-1' },
    effect: 'fail',
    code: 'Throttling.User',
    status: null,
    message: null,
  });
  const create = (vSwitchId: string) =>
    outcome(call(0, 'CreateNetworkInterface', { ...CREATE, vSwitchId }, { params: { VSwitchId: vSwitchId } }));
  t.same(
    [create('vsw-lab-1'), create('vsw-lab-2'), create('vsw-lab-1'), create('vsw-lab-1')],
    ['400 Throttling.User', 'ok', '400 Throttling.User', 'ok'],
  );
  t.equal(secondaries(0).length, 2);
  t.same(front.faults.list(), [], 'a fault that is used up is gone');
});

t.test('faults: a dropped reply is carried out, and the token finds it again', async (t) => {
  const { call, secondaries, gateway: front } = gateway();
  front.faults.plant({ api: 'CreateNetworkInterface', times: 1, params: {}, effect: 'drop', how: 'close' });
  const lost = call(0, 'CreateNetworkInterface', CREATE, { clientToken: 'a' });
  t.same(lost.instead, { drop: 'close' });
  t.equal(secondaries(0).length, 1);
  const found = call(500, 'CreateNetworkInterface', CREATE, { clientToken: 'a' });
  t.equal(found.instead, null);
  t.same(found.result, lost.result);
  t.equal(secondaries(500).length, 1);
});

t.test('faults: a held call is carried out when it is let go', async (t) => {
  const { secondaries, gateway: front } = gateway();
  const id = front.faults.plant({ api: 'CreateNetworkInterface', times: 1, params: {}, effect: 'hold' });
  const held = front.call({ api: 'CreateNetworkInterface', input: CREATE, params: {}, clientToken: null }, 0);
  if (held.kind !== 'held') throw new Error('it was answered');
  t.equal(held.heldBy, id);
  t.equal(secondaries(1_000).length, 0);
  t.equal(held.goOn(2_000).answerMs, 2_100);
  t.equal(secondaries(2_000).length, 1);
});

t.test('faults: a delay, a transition and a drop meet on one call', async (t) => {
  const { call, create, status, gateway: front } = gateway();
  const { eniId } = create(0);
  const planted = { api: 'AttachNetworkInterface', times: 1, params: {} };
  front.faults.plant({ ...planted, effect: 'delay', ms: 900 });
  front.faults.plant({ ...planted, effect: 'transition', lastsMs: 60_000, fails: true });
  front.faults.plant({ ...planted, effect: 'drop', how: 'hang' });
  const answer = call(0, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 });
  t.equal(answer.answerMs, 1_000);
  t.same(answer.instead, { drop: 'hang' });
  t.equal(status(60_999, eniId), 'Attaching');
  t.equal(status(61_000, eniId), 'Available');
});

t.test('throttling: N calls of an API in a calendar minute, again in the next', async (t) => {
  const { call, outcome } = gateway({ throttlePerMinute: { DescribeNetworkInterfaces: 2 } });
  const describe = (nowMs: number) => outcome(call(nowMs, 'DescribeNetworkInterfaces', DESCRIBE_ENIS));
  t.same(
    [describe(59_000), describe(59_500), describe(59_900), describe(60_000)],
    ['ok', 'ok', '400 Throttling.User', 'ok'],
  );
  t.equal(outcome(call(59_950, 'CreateNetworkInterface', CREATE)), 'ok', 'another API is counted apart');
});

t.test('ledger: says what came, when, and how it ended', async (t) => {
  const { call, create, gateway: front } = gateway();
  const { eniId } = create(0);
  const params = { NetworkInterfaceId: eniId, InstanceId: NODE_1 };
  call(10, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 }, { params });
  call(20, 'AttachNetworkInterface', { eniId, instanceId: NODE_1 }, { params: { NetworkInterfaceId: eniId } });
  call(30, 'DescribeNetworkInterfaceAttribute', { eniId: 'eni-none' });
  const [first, second, third] = front.ledger.read(0, null);
  t.match(first, {
    seq: 1,
    atMs: 10,
    answerMs: 110,
    outcome: 'ok',
    status: 200,
    instanceId: NODE_1,
    changed: true,
    params,
  });
  t.match(second, { outcome: 'InvalidOperation.InvalidEniState', status: 400, instanceId: NODE_1, changed: false });
  t.match(third, { outcome: 'InvalidEniId.NotFound', status: 404, instanceId: null });
  t.same(
    front.ledger.read(2, null).map((entry) => entry.seq),
    [3],
  );
  t.same(
    front.ledger.read(0, 'AttachNetworkInterface').map((entry) => entry.seq),
    [1, 2],
  );
});
