/** `enactor lab pod|probe|exec|status`: what one does to a lab that runs, from another terminal. */
import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { ControlClient, ControlError } from '../lab/control/control-client.ts';
import { findLabs, type RunningLab } from '../lab/control/find-lab.ts';
import { drawLab } from '../lab/view/draw-lab.ts';
import { paintFor } from '../lab/view/paint.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { howWeAreCalled } from './how-we-are-called.ts';
import { nodeStatus } from './node-status.ts';

export async function addPod(name: string, node: string | undefined): Promise<number> {
  const pod = await asked((lab) => lab.addPod(name, node));
  process.stdout.write(
    `${pod.name} runs on ${pod.node} with ${pod.ips.join(', ')} after ${Math.round(pod.startedInMs ?? 0)} ms\n`,
  );
  return EXIT.ok;
}

export async function removePod(name: string): Promise<number> {
  const { ips } = await asked((lab) => lab.removePod(name));
  process.stdout.write(`${name} is gone, and ${ips.join(', ')} rests before it is given away again\n`);
  return EXIT.ok;
}

export async function probe(from: string, to: string): Promise<number> {
  const { worked, why, rttMs } = await asked((lab) => lab.probe(from, to));
  const text = worked ? `reached in ${(rttMs ?? 0).toFixed(1)} ms, seen with its own address` : why;
  process.stdout.write(`${from} -> ${to}: ${text}\n`);
  return worked ? EXIT.ok : EXIT.failed;
}

/** The whole lab, or what the daemon of one of its nodes says. */
export async function showLab(nodeName: string | undefined, output: 'text' | 'json'): Promise<number> {
  const status = await asked((lab) => lab.status());
  if (nodeName !== undefined) {
    const node = status.nodes.find(({ name }) => name === nodeName);
    const names = status.nodes.map(({ name }) => name).join(', ');
    if (node === undefined) throw new CommandError(EXIT.failed, `no node ${nodeName}; there are ${names}`);
    return nodeStatus(node.debugSocket, output);
  }
  if (output === 'json') {
    process.stdout.write(`${JSON.stringify(status, null, 2)}\n`);
    return EXIT.ok;
  }
  const lines = drawLab(status, {
    columns: process.stdout.columns || 120,
    rows: 1_000,
    paint: paintFor(process.stdout),
    upMs: null,
    rootless: null,
    recent: [],
    command: howWeAreCalled(),
  });
  process.stdout.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

/** Runs a program in the namespaces of a pod, node or host; its exit code is ours. */
export async function execIn(name: string, command: readonly string[]): Promise<number> {
  const argv = command[0] === '--' ? command.slice(1) : command;
  const lab = runningLab();
  const { netns } = await asked((client) => client.place(name));
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

function runningLab(): RunningLab {
  const [lab] = findLabs();
  if (lab === undefined) {
    throw new CommandError(
      EXIT.cannot,
      `no lab of yours runs on this machine; start one with ${howWeAreCalled()} lab up`,
    );
  }
  return lab;
}

async function asked<T>(work: (client: ControlClient) => Promise<T>): Promise<T> {
  try {
    return await work(new ControlClient(runningLab().socketPath));
  } catch (error) {
    if (error instanceof ControlError) throw new CommandError(EXIT.failed, error.message);
    throw error;
  }
}
