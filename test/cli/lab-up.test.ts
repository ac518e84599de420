import '../lab/in-box.ts';

import { execFile, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { BoxError, boxCommand } from '../../src/lab/box/box-command.ts';
import { prepareBox } from '../../src/lab/box/inside-box.ts';
import { differences, type HostSnapshot, ownNetns, snapshotMachine, snapshotNetns } from '../lab/host-snapshot.ts';
import { AS_NOBODY, descendants, isBuilt, LabProcess, PROGRAM, stillThere } from './lab-process.ts';

const LAST_LINE =
  /^(ok|FAILED): (\d+) pods, (\d+) paths tried, (\d+) paths worked, refused packets: (\d+) routing fault, (\d+) just released, (\d+) unknown source, (\d+) no destination$/;

const run = promisify(execFile);
const enactor = (...args: string[]) => run(process.execPath, [PROGRAM, ...args]);

function whyNoBox(): string | null {
  try {
    boxCommand();
    return null;
  } catch (error) {
    if (error instanceof BoxError) return error.message;
    throw error;
  }
}

/** As the user without rights that the test becomes. */
function whyNoUserNamespaces(): string | null {
  const { status, stderr } = spawnSync('setpriv', [...AS_NOBODY, 'unshare', '--user', '--map-root-user', 'true'], {
    encoding: 'utf8',
  });
  return status === 0 || process.getuid?.() !== 0 ? null : `user namespaces are not allowed: ${stderr.trim()}`;
}

const { runDir } = prepareBox();

/**
 * The machine that the lab is started on: for this test a box of its own, in which nobody else makes devices or mounts, so that the
 * comparison may be of everything.
 */
function outside(): HostSnapshot {
  const netns = ownNetns();
  try {
    return { ...snapshotNetns(netns), ...snapshotMachine(runDir) };
  } finally {
    netns.close();
  }
}

/** A moment is allowed, since the kernel frees namespaces in its own time. */
async function asBefore(t: Test, before: HostSnapshot): Promise<void> {
  let left = differences(before, outside());
  for (let tries = 0; tries < 50 && left.length > 0; tries += 1) {
    await sleep(100);
    left = differences(before, outside());
  }
  t.strictSame(left, [], 'the machine is as before');
}

function figures(text: string) {
  const line = text.trimEnd().split('\n').at(-1) ?? '';
  const [, verdict, pods, tried, worked, routingFault] = LAST_LINE.exec(line) ?? [];
  return {
    line,
    verdict,
    pods: Number(pods),
    tried: Number(tried),
    worked: Number(worked),
    faults: Number(routingFault),
  };
}

const none = isBuilt() ? whyNoBox() : `${PROGRAM} is not built: npm run build`;
if (none !== null) t.comment(`NOT RUN: ${none}`);
const skip: string | false = none ?? false;

t.test('lab up --once: every path works, the last line counts, nothing stays', { skip }, async (t) => {
  const before = outside();
  const { code, text } = await new LabProcess(['--once']).ended;
  t.equal(code, 0, text);
  const { verdict, pods, tried, worked, faults } = figures(text);
  t.strictSame({ verdict, pods, tried, faults }, { verdict: 'ok', pods: 10, tried: 150, faults: 0 });
  t.equal(worked, tried);
  for (const kind of ['on one ENI', 'across two ENIs', 'across nodes', 'to its node', 'elsewhere']) {
    t.match(text, new RegExp(`✔ .*${kind}.*: \\d+ of \\d+`));
  }
  await asBefore(t, before);
});

t.test('lab up --once with a wrong rule planted fails, and counts the fault', { skip }, async (t) => {
  const { code, text } = await new LabProcess(['--once', '--plant', 'wrong-rule']).ended;
  t.equal(code, 1, text);
  const { verdict, tried, worked, faults } = figures(text);
  t.equal(verdict, 'FAILED');
  t.ok(faults > 0, `${faults} routing faults`);
  t.ok(worked < tried && worked > 0, `${worked} of ${tried} paths work: the others are not touched`);
  t.match(text, /planted on node-\d: packets of pod-\d+/);
});

const root = process.getuid?.() === 0;
const noUsers = none ?? whyNoUserNamespaces();
if (noUsers !== null) t.comment(`NOT RUN without root: ${noUsers}`);
t.test('lab up --once --dual-stack works without root, in both families', { skip: noUsers ?? false }, async (t) => {
  const { code, text } = await new LabProcess(['--once', '--dual-stack'], root ? 'nobody' : 'me').ended;
  t.equal(code, 0, text);
  const { tried, ...others } = figures(text);
  t.match(others, { verdict: 'ok', pods: 10, worked: tried, faults: 0 });
  t.ok(tried > 150, `${tried} paths, more than with one family`);
  for (const kind of ['on one ENI', 'across two ENIs of a node', 'across nodes']) {
    const [, worked, wanted] = new RegExp(`pod to pod ${kind} over IPv6: (\\d+) of (\\d+)`).exec(text) ?? [];
    t.ok(Number(wanted) > 0, `${kind}: ${wanted} paths over IPv6`);
    t.equal(worked, wanted, kind);
  }
});

t.test('lab up: other terminals can act on it; a signal ends it and nothing stays', { skip }, async (t) => {
  const before = outside();
  const lab = new LabProcess(['--pods', '2']);
  t.teardown(() => lab.child.kill('SIGKILL'));
  await lab.says(/pod web-2 runs/);
  await lab.says(/pod web-1 runs/);
  const started = descendants(lab.pid);
  t.match(
    started.map(({ command }) => command),
    [/unshare/, /enactor-lab/, /node/, /node/],
  );

  t.match(
    (await enactor('lab', 'pod', 'add', 'hello', '--node', 'node-2')).stdout,
    /^hello runs on node-2 with 192\.168\.0\.\d+/,
  );
  t.match((await enactor('lab', 'probe', 'web-1', 'hello')).stdout, /reached in .* seen with its own address/);
  const { stdout: hops } = await enactor('lab', 'path', 'web-1', 'hello');
  t.match(hops, /→ web-1 +eth0 +out .*\n(.*\n)+.*← web-1 +eth0 +in .*\nreached hello, who saw /, 'there and back');
  t.match((await enactor('lab', 'exec', 'hello', '--', 'cat', '/proc/net/route')).stdout, /eth0/);
  const status = JSON.parse((await enactor('lab', 'status', '-o', 'json')).stdout);
  t.strictSame(status.pods.map((pod: { name: string }) => pod.name).sort(), ['hello', 'web-1', 'web-2']);
  t.match((await enactor('status', '--debug-socket', status.nodes[1].debugSocket)).stdout, /bound +default\/hello/);
  t.match((await enactor('lab', 'status', 'node-2')).stdout, /bound +default\/hello/);
  const onNode2 = ['--lab', 'node-2'];
  t.match((await enactor('list', ...onNode2)).stdout, /\* network_service/);
  t.match((await enactor('mapping', ...onNode2)).stdout, /default\/hello -> eni-lab/);
  t.match(
    (await enactor('metadata', ...onNode2)).stdout,
    /primary: true\n.*interface: eth0[\s\S]*primary: false\n.*interface: eth1/,
    'the devices of that node, not of this machine',
  );
  await t.rejects(enactor('list', '--lab', 'node-9'), { code: 1, stderr: /no node node-9; there are node-1, node-2/ });
  t.match((await enactor('lab', 'pod', 'list')).stdout, /^hello +node-2 +running +192\.168\.0\.\d+/m);
  t.match((await enactor('lab', 'ledger')).stdout, /AssignPrivateIpAddresses +ok +\d+ +i-lab-node-/);

  t.match((await enactor('lab', 'dry')).stdout, /^vsw-lab-1.*: no address left; --end/);
  const assigned = [
    '{"change":"assign","eniId":"eni-none","count":1}',
    '[{"api":"Metadata","effect":"nothing"}]',
  ] as const;
  await t.rejects(enactor('lab', 'admin', 'POST', 'change', assigned[0]), { code: 1, stdout: /InvalidEniId|eni-none/ });
  await t.rejects(enactor('lab', 'admin', 'POST', 'faults', assigned[1]), { code: 1, stdout: /"field": "0\.effect"/ });
  await t.rejects(enactor('lab', 'admin', 'POST', 'faults', '{'), { code: 2, stderr: /is no JSON/ });
  await t.rejects(enactor('lab', 'dry', 'vsw-none'), { code: 1, stderr: /no vSwitch vsw-none; there are vsw-lab-1/ });
  const left = async (): Promise<number> => {
    const { vSwitches } = JSON.parse((await enactor('lab', 'admin', 'GET', 'truth')).stdout);
    t.equal(vSwitches[0].vSwitchId, 'vsw-lab-1');
    return vSwitches[0].availableAddresses;
  };
  t.equal(await left(), 0, 'and so it is');
  t.match((await enactor('lab', 'dry', '--end')).stdout, /^vsw-lab-1.*: addresses again/);
  t.ok((await left()) > 0);
  await t.rejects(enactor('lab', 'pod', 'list', '--pid', '1'), { code: 1, stderr: /no lab of yours has pid 1/ });
  t.match((await enactor('lab', 'pod', 'rm', 'hello')).stdout, /^hello is gone/);
  await t.rejects(enactor('lab', 'pod', 'rm', 'hello'), { code: 1, stderr: /no pod hello/ });

  const second = new LabProcess(['--pods', '1']);
  t.teardown(() => second.child.kill('SIGKILL'));
  await second.says(/pod web-1 runs/);
  const which = {
    code: 2,
    stderr: /2 labs run here; say which with --pid:\n( {2}--pid \d+ {2}node-1, node-2; \d pods?: .*\n){2}/,
  };
  for (const command of [
    'lab pod rm web-1',
    'lab probe web-1 elsewhere',
    'status --lab node-1',
    'mapping --lab node-1',
  ])
    await t.rejects(enactor(...command.split(' ')), which, command);
  const pid = ['--pid', String(status.hostPid)];
  const first = await enactor('lab', 'status', '-o', 'json', ...pid);
  t.equal(JSON.parse(first.stdout).pods.length, 2);
  t.match((await enactor('why', 'web-2', '--lab', 'node-2', ...pid)).stdout, /^bound/);
  await t.rejects(enactor('why', 'web-2', ...pid), { code: 2, stderr: /--lab has to say which node/ });
  second.child.kill('SIGINT');
  t.equal((await second.ended).code, 0);

  lab.child.kill('SIGINT');
  const { code, text } = await lab.ended;
  t.equal(code, 0, text);
  t.match(text, /removing 2 pods[\s\S]*gone; nothing is left\n$/);
  t.strictSame(stillThere(started), []);
  await asBefore(t, before);
});

t.test('lab up: even SIGKILL of what the user started leaves nothing', { skip }, async (t) => {
  const before = outside();
  const lab = new LabProcess(['--pods', '1']);
  await lab.says(/pod web-1 runs/);
  const started = descendants(lab.pid);
  t.ok(started.length >= 4, `${started.length} processes`);
  lab.child.kill('SIGKILL');
  t.match(await lab.ended, { signal: 'SIGKILL' });
  for (let tries = 0; tries < 50 && stillThere(started).length > 0; tries += 1) await sleep(100);
  t.strictSame(stillThere(started), []);
  await asBefore(t, before);
});

t.test('enactor: exit codes and help', { skip: isBuilt() ? false : `${PROGRAM} is not built` }, async (t) => {
  t.match((await enactor('lab', 'up', '--help')).stdout, /Examples:[\s\S]*--plant wrong-rule/);
  await t.rejects(enactor('lab', 'up', '--pods', '0'), { code: 2 });
  await t.rejects(enactor('lab', 'up', '--plant', 'wrong-rule'), { code: 2, stderr: /--once/ });
  await t.rejects(enactor('lab', 'cloud', '--listen', 'nonsense'), { code: 2, stderr: /^enactor: listen: nonsense/ });
  await t.rejects(enactor('status', '--debug-socket', '/nowhere'), {
    code: 3,
    stderr: /no daemon answers at \/nowhere/,
  });
});
