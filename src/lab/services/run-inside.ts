/** Runs a program of the distribution inside a namespace, with text for its standard input. */
import { spawn } from 'node:child_process';
import type { Netns } from '../netns/netns.ts';
import { printed } from './printed.ts';

const TIMEOUT_MS = 60_000;

/** Resolves with what it printed. Rejects with its own words when it fails or is not there. */
export function runInside(
  netns: Pick<Netns, 'command'>,
  program: string,
  argv: readonly string[],
  input = '',
): Promise<string> {
  const { command, args } = netns.command(program, argv);
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    env: { PATH: process.env.PATH },
  });
  child.stdin.on('error', () => {}); // it may have ended without a look at it
  child.stdin.end(input);
  return printed(child, `${program} ${argv.join(' ')}`);
}
