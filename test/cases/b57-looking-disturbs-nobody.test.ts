/**
 * B57: operators look at a node while pods come and go: every command in every form, with wrong arguments too, a third of them killed in
 * the middle; and readers of streams that were stopped for good. Pods get their addresses as ever, and the daemon finds no fault.
 * The real daemon over its sockets; long form: npm run soak (ENACTOR_SPEED=1).
 */
import '../lab/in-box.ts';

import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { ask, call, type Machine, machine } from '../daemon/machine.ts';
import { SPEED } from './speed.ts';

t.setTimeout(900_000);
const ENACTOR = resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactor.js');
const LONG = SPEED < 10;
const RUNS = LONG ? 200 : 36;
const FROZEN = LONG ? 20 : 4;
const AT_ONCE = 3;

type Ran = { readonly code: number | null; readonly stderr: string };

function started(args: readonly string[]): { child: ChildProcess; ended: Promise<Ran> } {
  const child = spawn('env', ['-i', `PATH=${process.env.PATH}`, process.execPath, ENACTOR, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdout?.resume();
  return { child, ended: new Promise((done) => child.once('close', (code) => done({ code, stderr }))) };
}

/** Each with the exit codes that it may have when it is left to end. */
function commands({ paths }: Machine): readonly (readonly [args: readonly string[], codes: readonly number[]])[] {
  const node = ['--debug-socket', paths.debugSocket];
  const grpc = ['--grpc-socket', paths.grpcSocket];
  const listed = ['status', 'leases', 'actors', 'eni', 'journal', 'config'].flatMap((name) =>
    ['text', 'json', 'yaml'].map((form) => [[name, ...node, '-o', form], [0]] as const),
  );
  const traced = [['list'], ['show', 'factory'], ['mapping'], ['execute', 'network_service', 'default', 'resdb']];
  return [
    ...listed,
    ...traced.map((args) => [[...args, ...grpc], [0]] as const),
    [
      ['why', 'web-1', ...node],
      [0, 1],
    ],
    [['why', 'no-such-pod', ...node, '-o', 'json'], [1]],
    [['actors', 'node/none', ...node], [1]],
    [['eni', 'eni:99', ...node], [1]],
    [['show', 'nothing', ...grpc], [1]],
    [['gc', ...node, '-o', 'json'], [0]],
    [['sync', ...node, '-o', 'yaml'], [0]],
    [
      ['doctor', ...node],
      [0, 1],
    ],
    [['events', ...node, '-o', 'yaml'], [130]],
    [['status', ...node, '-o', 'xml'], [2]],
    [['events', ...node, '--context', '-o', 'json'], [130]],
  ];
}

t.test('B57: looking at a node that serves', async (t) => {
  const here = await machine(t, { min_pool_size: 2, max_pool_size: 4, cool_down: '50ms' });
  for (const name of ['web-0', 'web-1', 'web-2']) here.addPod(name);
  const daemon = here.start();
  await daemon.serving();

  const frozen = Array.from({ length: FROZEN }, () =>
    started(['events', '--context', '-o', 'json', '--debug-socket', here.paths.debugSocket]),
  );
  t.teardown(() => {
    for (const { child } of frozen) child.kill('SIGKILL');
  });
  await Promise.all(frozen.map(({ child }) => new Promise((heard) => child.stdout?.once('data', heard))));
  for (const { child } of frozen) child.kill('SIGSTOP');

  const failed: unknown[] = [];
  let adds = 0;
  let looking = true;
  const churn = async (name: string): Promise<void> => {
    for (let round = 0; looking || adds < 90; round += 1) {
      const sandbox = { K8sPodInfraContainerId: `sandbox-${name}-${round}` };
      const add = await call(here.paths.jsonSocket, 'AllocIP', name, sandbox);
      if (add.status !== 200) failed.push({ name, round, add });
      adds += 1;
      const del = await call(here.paths.jsonSocket, 'ReleaseIP', name, sandbox);
      if (del.status !== 200) failed.push({ name, round, del });
      await sleep(30);
    }
  };
  const pods = ['web-0', 'web-1', 'web-2'].map(churn);

  const all = commands(here);
  const wrong: unknown[] = [];
  let next = 0;
  const looker = async (): Promise<void> => {
    while (next < RUNS) {
      const nth = next;
      next += 1;
      // Each command once, then again from the start; a stride that shares no factor with their number mixes them.
      const [args, codes] = all[(nth * 7) % all.length] ?? all[0] ?? [[], []];
      const { child, ended } = started(args);
      const killed = nth % 3 === 0;
      if (killed) setTimeout(() => child.kill('SIGKILL'), 100 + ((nth * 37) % 200)).unref();
      else if (codes.includes(130)) child.stdout?.once('data', () => child.kill('SIGINT'));
      const { code, stderr } = await ended;
      if (!killed && !codes.includes(code ?? -1)) wrong.push({ args, code, stderr });
      if (/^ {4}at /m.test(stderr)) wrong.push({ args, stderr });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, looker));
  looking = false;
  await Promise.all(pods);
  t.strictSame(wrong, [], 'every command ends as it should');
  t.strictSame(failed, [], `all of ${adds} pods got their address`);

  const lines = daemon.log.split('\n').filter((line) => line.startsWith('{'));
  const parsed = lines.map((line) => JSON.parse(line) as { level: string; msg: string; path?: string });
  t.strictSame(
    parsed.filter(({ level }) => level === 'error'),
    [],
    'the daemon met no fault',
  );
  const cut = (): number => daemon.log.split('did not take what it was sent').length - 1;
  await daemon.until(async () => cut() === FROZEN);
  t.equal(cut(), FROZEN, 'readers that stand still are cut off');

  await t.test('a daemon that is frozen, and one that is not there', async (t) => {
    const node = ['--debug-socket', here.paths.debugSocket];
    process.kill(daemon.pid, 'SIGSTOP');
    const still = await Promise.all(
      [
        ['leases', ...node],
        ['events', ...node],
        ['list', '--grpc-socket', here.paths.grpcSocket],
      ].map((args) => started(args).ended),
    );
    process.kill(daemon.pid, 'SIGCONT');
    for (const { code, stderr } of still) {
      t.equal(code, 3, stderr);
      t.match(stderr, /^enactor: no daemon answers at .*\.sock: [^\n]*\n$/);
    }
    t.equal((await ask(here.paths.debugSocket, 'GET', '/v1/health')).status, 200, 'it goes on');
    await daemon.stop();
    const gone = await Promise.all(
      [
        ['status', ...node],
        ['watch', ...node],
        ['list', '--grpc-socket', here.paths.grpcSocket],
      ].map((args) => started(args).ended),
    );
    t.strictSame(
      gone.map(({ code }) => code),
      [3, 2, 3],
      gone.map(({ stderr }) => stderr).join(''),
    );
    t.match(gone[0]?.stderr, `no daemon answers at ${here.paths.debugSocket}`);
    t.match(gone[2]?.stderr, `no daemon answers at ${here.paths.grpcSocket}`);
  });
});
