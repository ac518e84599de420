/**
 * `bun .ci/side-by-side.ts NAME...`: scripts of package.json at once, for those that do not need each other and each use one core for half of their time.
 * What each of them said is printed when it has ended; the exit code is 1 when one failed, and all are waited for.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const beganMs = Date.now();

/** Resolves to whether it ended well. */
function run(name: string): Promise<boolean> {
  const command = scripts[name];
  if (command === undefined) throw new RangeError(`package.json has no script ${name}`);
  const child = spawn('sh', ['-c', `${command} 2>&1`], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const seconds = ((Date.now() - beganMs) / 1000).toFixed(1);
      process.stdout.write(`\n> ${name}: ${code === 0 ? 'ok' : `FAILED (${code})`} after ${seconds} s\n${said}`);
      resolve(code === 0);
    });
  });
}

const ended = await Promise.all(process.argv.slice(2).map(run));
process.exitCode = ended.every(Boolean) ? 0 : 1;
