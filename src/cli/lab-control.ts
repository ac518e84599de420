/** `enactor lab pod|probe|exec|status|ledger`: what one does to a lab that runs, from another terminal. */
import { setTimeout as sleep } from 'node:timers/promises';
import { traceLines } from '../lab/checks/trace-path.ts';
import type { ControlClient } from '../lab/control/control-client.ts';
import { drawLab } from '../lab/view/draw-lab.ts';
import { hasProgram } from '../lab/view/has-program.ts';
import { forHowLong } from '../lab/view/words.ts';
import type { OutputForm } from './command.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { howWeAreCalled } from './how-we-are-called.ts';
import { runInside } from './lab-inside.ts';
import { nodeStatus } from './node-status.ts';
import { print } from './print.ts';
import { table } from './table.ts';
import { asked, chosenLab } from './which-lab.ts';
import { labNode } from './which-node.ts';

const FIRST_WORD_MS = 1_000;
const LOOK_AGAIN_MS = 500;
/** A reason that stays is told again so often, without its details. */
const STILL_MS = 10_000;

export async function addPod(
  name: string,
  node: string | undefined,
  output: OutputForm,
  pid: number | undefined,
): Promise<number> {
  const pod = await asked(await chosenLab(pid), async (lab) => {
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

/** The same reason, whatever call and whichever moment it is about. */
export function gist(reason: string): string {
  return reason
    .replace(/, request [^,]+,/g, ',')
    .replace(/\d\d:\d\d:\d\d/g, '')
    .replace(/\b(Assign|Create)\w+:/g, '');
}

/** Says why a pod does not run yet, each reason once and then for how long it has been so, so that a node that is full does not look like a command that hangs. */
async function tellWaiting(lab: ControlClient, name: string, signal: AbortSignal): Promise<void> {
  const told = new Set<string>();
  const beganMs = performance.now();
  let saidMs = beganMs;
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  for (await pause(FIRST_WORD_MS); !signal.aborted; await pause(LOOK_AGAIN_MS)) {
    const status = await lab.status().catch(() => null);
    const pod = status?.pods.find((one) => one.name === name);
    if (pod === undefined || signal.aborted) continue;
    const reason = pod.failure ?? 'for the daemon’s answer';
    const nowMs = performance.now();
    if (told.has(gist(reason))) {
      if (nowMs - saidMs < STILL_MS) continue;
      process.stderr.write(`still waiting after ${Math.round((nowMs - beganMs) / 1_000)} s\n`);
      saidMs = nowMs;
      continue;
    }
    const upTo = pod.startTimeoutMs === null ? '' : `, up to ${Math.round(pod.startTimeoutMs / 1_000)} s`;
    const then = pod.failedTries === 0 ? upTo : `; the kubelet tries again${upTo}`;
    process.stderr.write(`waiting: ${reason}${then}\n`);
    told.add(gist(reason));
    saidMs = nowMs;
  }
}

export async function removePod(name: string, output: OutputForm, pid: number | undefined): Promise<number> {
  const gone = await asked(await chosenLab(pid), (lab) => lab.removePod(name));
  const { ips } = gone;
  const rests = ips.length === 0 ? '' : `, and ${ips.join(', ')} rests before it is given away again`;
  print(gone, output, () => [`${name} is gone${rests}`]);
  return EXIT.ok;
}

export async function listPods(output: OutputForm, pid: number | undefined): Promise<number> {
  const { pods, atMs } = await asked(await chosenLab(pid), (lab) => lab.status());
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
  const rebooted = await asked(await chosenLab(pid), (lab) => lab.reboot(node));
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
  const dried = await asked(await chosenLab(pid), (lab) => lab.dry(vSwitchId, dry));
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
  const { status, value } = await asked(await chosenLab(pid), (lab) => lab.admin(method, path, body));
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  return status < 400 ? EXIT.ok : EXIT.failed;
}

/** The last calls that the lab's cloud was asked for, the latest at the end. */
export async function showLedger(last: number, output: OutputForm, pid: number | undefined): Promise<number> {
  const { entries } = await asked(await chosenLab(pid), (lab) => lab.ledger());
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
  const verdict = await asked(await chosenLab(pid), (lab) => lab.probe(from, to));
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
  const trace = await asked(await chosenLab(pid), (lab) => lab.path(from, to, family));
  print(trace, output, () => traceLines(trace));
  return trace.result.reached ? EXIT.ok : EXIT.failed;
}

/** The whole lab, or what the daemon of one of its nodes says. */
export async function showLab(
  nodeName: string | undefined,
  output: OutputForm,
  pid: number | undefined,
): Promise<number> {
  const lab = await chosenLab(pid);
  if (nodeName !== undefined) return nodeStatus((await labNode(lab, nodeName)).debugSocket, output);
  const status = await asked(lab, (client) => client.status());
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
  const lab = await chosenLab(pid);
  const { netns } = await asked(lab, (client) => client.place(name));
  return runInside(lab, netns, argv);
}
