/** Runs a program of the distribution inside a namespace, with text for its standard input. */
import { spawn } from 'node:child_process';
import type { Netns } from '../netns/netns.ts';

const TIMEOUT_MS = 60_000;

/** Resolves with what it printed. Rejects with its own words when it fails or is not there. */
export function runInside(
  netns: Pick<Netns, 'command'>,
  program: string,
  argv: readonly string[],
  input = '',
): Promise<string> {
  const { command, args } = netns.command(program, argv);
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: TIMEOUT_MS,

      env: { PATH: process.env.PATH },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else
        reject(
          new Error(
            `${program} ${argv.join(' ')} ended with ${code ?? signal}: ${(stderr.trim() || stdout.trim()).slice(0, 1_000)}`,
          ),
        );
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
