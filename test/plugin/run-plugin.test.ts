/** The protocol part alone, with a datapath that only counts: time limits, and the first cause. */
import { test } from 'tap';
import { postOverNode } from '../../src/adapters/http/post-node.ts';
import { PLUGIN_DEADLINE_MS } from '../../src/core/limits.ts';
import { DEFAULT_CALL_LIMITS } from '../../src/plugin/daemon-calls.ts';
import type { PodDatapath } from '../../src/plugin/pod-datapath.ts';
import { type PluginPorts, runPlugin } from '../../src/plugin/run-plugin.ts';
import { type Bench, pluginBench } from './plugin-process.ts';

function portsOf(bench: Bench, command: string, done: string[], fail: string | null = null): PluginPorts {
  const act = (what: string): void => {
    done.push(what);
    if (what === fail) throw new Error(`${what} failed`);
  };
  const made = { hostName: 'cali1', hostMac: 'aa', podMac: 'bb' };
  const datapath: PodDatapath = {
    gateway: { 4: '169.254.1.1', 6: 'fe80::1' },
    isOwnNetns: () => false,
    terwayAddresses: () => [],
    open: () => ({
      hasInterface: () => false,
      isMade: () => false,
      attach: () => {
        act('attach');
        return made;
      },
      verify: () => null,
      close: () => act('close'),
    }),
    detach: (_, { ips }) => act(`detach ${ips.join(' ')}`),
  };
  return {
    env: bench.env(command, { CNI_NETNS: '/run/netns/p' }),
    readStdin: () => Buffer.from(bench.conf()),
    post: postOverNode,
    terway: () => Promise.reject(new Error('nobody speaks gRPC here')),
    datapath: () => datapath,
    nowMs: Date.now,
    signal: new AbortController().signal,
    limits: { ...DEFAULT_CALL_LIMITS, allocMs: 80, releaseMs: 60, eventMs: 60 },
  };
}

test('run plugin: the limits of ADD add up to less than its deadline', (t) => {
  const { refusedMs, allocMs, releaseMs, eventMs } = DEFAULT_CALL_LIMITS;
  t.ok(refusedMs + allocMs + releaseMs + eventMs < PLUGIN_DEADLINE_MS);
  t.ok(refusedMs < 5_000, 'a refused socket is answered within five seconds');
  t.end();
});

test('run plugin: a daemon that hangs is given up, what it may have granted is given back or noted', async (t) => {
  const bench = await pluginBench(t, null);
  bench.daemon.faults.set('AllocIP', 'hang');
  const done: string[] = [];
  const answer = await runPlugin(portsOf(bench, 'ADD', done));
  t.match(answer, { exitCode: 1, stdout: { code: 11, msg: /AllocIP: no answer on .* within 80 ms/ } });
  t.strictSame(bench.daemon.methods(), ['AllocIP', 'ReleaseIP']);
  t.strictSame(done, ['close'], 'nothing was made');
  bench.daemon.faults.set('ReleaseIP', 'hang');
  const deleted = await runPlugin(portsOf(bench, 'DEL', done));
  t.strictSame([deleted.exitCode, deleted.stdout], [0, null]);
});

test('run plugin: the first failure is told, also when roll-back and event fail after it', async (t) => {
  const bench = await pluginBench(t, null);
  for (const method of ['ReleaseIP', 'RecordEvent']) bench.daemon.faults.set(method, 'reset');
  const done: string[] = [];
  const answer = await runPlugin(portsOf(bench, 'ADD', done, 'attach'));
  t.match(answer.stdout, { code: 11, msg: 'attach failed' });
  t.strictSame(done, ['attach', 'close']);
});

test('run plugin: DEL releases first and takes down what the reply names', async (t) => {
  const bench = await pluginBench(t, null);
  const done: string[] = [];
  t.equal((await runPlugin(portsOf(bench, 'ADD', []))).exitCode, 0);
  t.equal((await runPlugin(portsOf(bench, 'DEL', done))).exitCode, 0);
  t.strictSame(done, ['detach 192.168.0.10']);
  t.match((await runPlugin(portsOf(bench, 'DEL', [], 'detach '))).stdout, { code: 11, msg: 'detach  failed' });
});

test('run plugin: the trace that the runtime names goes along with each call, and what is none does not', async (t) => {
  const bench = await pluginBench(t, null);
  const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const sent: (string | undefined)[] = [];
  for (const TRACEPARENT of [trace, 'x\ninjected: line', undefined]) {
    const ports = portsOf(bench, 'ADD', []);
    const env = { ...ports.env, ...(TRACEPARENT === undefined ? {} : { TRACEPARENT }) };
    const post: PluginPorts['post'] = (request) => {
      sent.push(request.headers.traceparent);
      return postOverNode(request);
    };
    t.equal((await runPlugin({ ...ports, env, post })).exitCode, 0);
  }
  t.strictSame(sent, [trace, undefined, undefined]);
});
