/** Runs a program inside a lab: in its mounts and processes, and in the network namespace of a pod, node or host. */
import { spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { RunningLab } from '../lab/control/find-lab.ts';
import { CommandError, EXIT } from './exit-codes.ts';

/** Resolves with its exit code, 128 and more when a signal ended it. @param netns as the lab tells it: a path in its own mounts */
export async function runInside({ pid }: RunningLab, netns: string, argv: readonly string[]): Promise<number> {
  const root = `/proc/${pid}`;
  const elsewhere = readlinkSync(`${root}/ns/user`) !== readlinkSync('/proc/self/ns/user');
  const enter = [
    `--target=${pid}`,
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
    child.once('error', (error) =>
      reject(new CommandError(EXIT.cannot, `nsenter of util-linux cannot be run: ${error.message}`)),
    );
    child.once('exit', (code) => resolve(code ?? EXIT.failed));
  });
}
