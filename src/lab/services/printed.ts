import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** Resolves with what a program printed when it has ended well. Rejects with `line` and its own words when it has not, or is not there. */
export function printed(
  child: ChildProcessByStdio<Writable | null, Readable, Readable>,
  line: string,
): Promise<string> {
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
    });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(said.stdout);
      const words = `${said.stderr.trim()}\n${said.stdout.trim()}`.trim();
      reject(new Error(`${line} ended with ${code ?? signal}: ${words}`));
    });
  });
}
