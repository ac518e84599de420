/** `enactor lab pod|probe|exec|status|ledger`: what one does to a lab that runs, from another terminal. */
import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { traceLines } from '../lab/checks/trace-path.ts';
import { ControlClient, ControlError } from '../lab/control/control-client.ts';
import { findLabs, type RunningLab } from '../lab/control/find-lab.ts';
import { drawLab } from '../lab/view/draw-lab.ts';
import { hasProgram } from '../lab/view/has-program.ts';
import { forHowLong } from '../lab/view/words.ts';
import type { OutputForm } from './command.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { howWeAreCalled } from './how-we-are-called.ts';
import { nodeStatus } from './node-status.ts';
import { print } from './print.ts';
import { table } from './table.ts';

const FIRST_WORD_MS = 1_000;
const LOOK_AGAIN_MS = 500;

export async function addPod(
  name: string,
  node: string | undefined,
  output: OutputForm,
  pid: number | undefined,
): Promise<number> {
  const pod = await asked(chosenLab(pid), async (lab) => {
    const adding = lab.addPod(name, node);
    const ended = new AbortController();
    const telling = tellWaiting(lab, name, ended.signal);
    return adding.finally(async () => {
      ended.abort();
      await telling;
    });
  });
  print(pod, output, () => [
    `${pod.name} runs on ${pod.node} with ${pod.ips.join(', ')} after ${Math.round(pod.startedInMs ?? 0)} ms`,
  ]);
  return EXIT.ok;
}

/** Says why a pod does not run yet, each reason once, so that a node that is full does not look like a command that hangs. */
async function tellWaiting(lab: ControlClient, name: string, signal: AbortSignal): Promise<void> {
  let told: string | null = null;
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  for (await pause(FIRST_WORD_MS); !signal.aborted; await pause(LOOK_AGAIN_MS)) {
    const status = await lab.status().catch(() => null);
    const pod = status?.pods.find((one) => one.name === name);
    if (pod === undefined || signal.aborted) continue;
    const reason = pod.failure ?? 'for the daemon’s answer';
    if (reason === told) continue;
    const upTo = pod.startTimeoutMs === null ? '' : `, up to ${Math.round(pod.startTimeoutMs / 1_000)} s`;
    const then = pod.failedTries === 0 ? upTo : `; the kubelet tries again${upTo}`;
    process.stderr.write(`waiting: ${reason}${then}\n`);
    told = reason;
  }
}

export async function removePod(name: string, output: OutputForm, pid: number | undefined): Promise<number> {
  const gone = await asked(chosenLab(pid, 'destructive'), (lab) => lab.removePod(name));
  const { ips } = gone;
  const rests = ips.length === 0 ? '' : `, and ${ips.join(', ')} rests before it is given away again`;
  print(gone, output, () => [`${name} is gone${rests}`]);
  return EXIT.ok;
}

export async function listPods(output: OutputForm, pid: number | undefined): Promise<number> {
  const { pods, atMs } = await asked(chosenLab(pid), (lab) => lab.status());
  const rows = pods.map((pod) => [
    pod.name,
    pod.node,
    pod.phase === 'starting' ? 'waiting' : pod.phase,
    pod.ip ?? '-',
    forHowLong(atMs - pod.sinceMs),
    pod.phase === 'starting' ? (pod.failure ?? '') : '',
  ]);
  print(pods, output, (paint) => table(['POD', 'NODE', 'IS', 'ADDRESS', 'SINCE', 'WHY'], rows, paint));
  return EXIT.ok;
}

/** Takes a node down as a power cut does, and waits until its pods run again, in new sandboxes. */
export async function rebootNode(node: string, output: OutputForm, pid: number | undefined): Promise<number> {
  const rebooted = await asked(chosenLab(pid, 'destructive'), (lab) => lab.reboot(node));
  const { tookMs, pods } = rebooted;
  const rows = pods.map(({ name, ips }) => [name, ips.join(' ')]);
  print(rebooted, output, (paint) => [
    ...(rows.length === 0 ? [] : table(['POD', 'ADDRESS NOW'], rows, paint)),
    `${node} is back after ${(tookMs / 1_000).toFixed(1)} s, ${pods.length} pods run again`,
  ]);
  return EXIT.ok;
}

/** Empties vSwitches of the lab's cloud, or fills them again. */
export async function dryUp(
  vSwitchId: string | undefined,
  dry: boolean,
  output: OutputForm,
  pid: number | undefined,
): Promise<number> {
  const dried = await asked(chosenLab(pid, 'destructive'), (lab) => lab.dry(vSwitchId, dry));
  const what = dry ? 'no address left; --end gives them back' : 'addresses again';
  print({ ...dried, dry }, output, () => [`${dried.vSwitchIds.join(', ')}: ${what}`]);
  return EXIT.ok;
}

/** Any request of the cloud's admin interface. @param json what is sent */
export async function askAdmin(
  method: string,
  path: string,
  json: string | undefined,
  pid: number | undefined,
): Promise<number> {
  let body: unknown;
  try {
    body = json === undefined ? undefined : JSON.parse(json);
  } catch (error) {
    throw new CommandError(
      EXIT.usage,
      `what is to be sent is no JSON: ${error instanceof Error ? error.message : error}`,
    );
  }
  const { status, value } = await asked(chosenLab(pid, method === 'GET' ? 'harmless' : 'destructive'), (lab) =>
    lab.admin(method, path, body),
  );
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  return status < 400 ? EXIT.ok : EXIT.failed;
}

/** The last calls that the lab's cloud was asked for, the latest at the end. */
export async function showLedger(last: number, output: OutputForm, pid: number | undefined): Promise<number> {
  const { entries } = await asked(chosenLab(pid), (lab) => lab.ledger());
  const shown = entries.slice(-last);
  const rows = shown.map(({ seq, atMs, answerMs, api, outcome, instanceId }) => [
    String(seq),
    new Date(atMs).toLocaleTimeString('en-GB'),
    api,
    outcome,
    answerMs === null ? 'held' : String(Math.round(answerMs - atMs)),
    instanceId ?? '-',
  ]);
  print(shown, output, (paint) => table(['CALL', 'AT', 'API', 'OUTCOME', 'MS', 'INSTANCE'], rows, paint));
  return EXIT.ok;
}

export async function probe(from: string, to: string, output: OutputForm, pid: number | undefined): Promise<number> {
  const verdict = await asked(chosenLab(pid), (lab) => lab.probe(from, to));
  const { worked, why, rttMs } = verdict;
  const text = worked ? `reached in ${(rttMs ?? 0).toFixed(1)} ms, seen with its own address` : why;
  print({ from, to, ...verdict }, output, () => [`${from} -> ${to}: ${text}`]);
  return worked ? EXIT.ok : EXIT.failed;
}

/** Every device that a probe and its answer pass. */
export async function showPath(
  from: string,
  to: string,
  { family, output, pid }: { family: 4 | 6 | undefined; output: OutputForm; pid: number | undefined },
): Promise<number> {
  const trace = await asked(chosenLab(pid), (lab) => lab.path(from, to, family));
  print(trace, output, () => traceLines(trace));
  return trace.result.reached ? EXIT.ok : EXIT.failed;
}

/** The whole lab, or what the daemon of one of its nodes says. */
export async function showLab(
  nodeName: string | undefined,
  output: OutputForm,
  pid: number | undefined,
): Promise<number> {
  const status = await asked(chosenLab(pid), (lab) => lab.status());
  if (nodeName !== undefined) {
    const node = status.nodes.find(({ name }) => name === nodeName);
    const names = status.nodes.map(({ name }) => name).join(', ');
    if (node === undefined) throw new CommandError(EXIT.failed, `no node ${nodeName}; there are ${names}`);
    return nodeStatus(node.debugSocket, output);
  }
  print(status, output, (paint) =>
    drawLab(status, {
      columns: process.stdout.columns || 120,
      rows: 1_000,
      paint,
      upMs: null,
      rootless: null,
      recent: [],
      command: howWeAreCalled(),
      hasIp: hasProgram('ip'),
    }),
  );
  return EXIT.ok;
}

/** Runs a program in the namespaces of a pod, node or host; its exit code is ours. */
export async function execIn(name: string, command: readonly string[], pid: number | undefined): Promise<number> {
  const argv = command[0] === '--' ? command.slice(1) : command;
  const lab = chosenLab(pid);
  const { netns } = await asked(lab, (client) => client.place(name));
  const root = `/proc/${lab.pid}`;
  const elsewhere = readlinkSync(`${root}/ns/user`) !== readlinkSync('/proc/self/ns/user');
  const enter = [
    `--target=${lab.pid}`,
    ...(elsewhere ? ['--user', '--preserve-credentials'] : []),
    '--mount',
    '--pid',
    `--net=${root}/root${netns}`,
    `--wdns=${process.cwd()}`,
    '--',
    ...argv,
  ];
  const child = spawn('nsenter', enter, { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? EXIT.failed));
  });
}

/**
 * The lab that `--pid` names, or the only one. Of several the latest, and then says which; but nothing is taken away from a lab that
 * the user may not have meant. Throws CommandError.
 */
function chosenLab(pid: number | undefined, deed: 'destructive' | 'harmless' = 'harmless'): RunningLab {
  const labs = findLabs();
  const pids = labs.map((lab) => lab.pid).join(' and ');
  const [latest] = labs;
  if (latest === undefined) {
    throw new CommandError(
      EXIT.cannot,
      `no lab of yours runs on this machine; start one with ${howWeAreCalled()} lab up`,
    );
  }
  if (pid !== undefined) {
    const named = labs.find((lab) => lab.pid === pid);
    if (named === undefined) throw new CommandError(EXIT.failed, `no lab of yours has pid ${pid}; there are ${pids}`);
    return named;
  }
  if (labs.length === 1) return latest;
  if (deed === 'destructive') {
    throw new CommandError(EXIT.usage, `${labs.length} labs run here, pids ${pids}: choose one with --pid`);
  }
  process.stderr.write(`of the labs with pids ${pids} this is about ${latest.pid}; --pid chooses another\n`);
  return latest;
}

async function asked<T>(lab: RunningLab, work: (client: ControlClient) => Promise<T>): Promise<T> {
  try {
    return await work(new ControlClient(lab.socketPath));
  } catch (error) {
    if (error instanceof ControlError) throw new CommandError(EXIT.failed, error.message);
    throw error;
  }
}
