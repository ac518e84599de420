/**
 * A part of a bench that runs under Node, as the daemon does, while Bun runs the benches: bundled like the daemon, started with its input as
 * one argument, and its last line of standard output is the answer.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { BenchOptions } from './measurement.ts';
import { profileArgs } from './profile.ts';

const BANNER =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

/** `name`: of the file beside this one, without its end. Rejects with what it said when it fails. */
export async function runUnderNode<Answer>(
  name: string,
  input: unknown,
  { progress, profileInto }: Pick<BenchOptions, 'progress' | 'profileInto'>,
  nodeArgs: readonly string[] = [],
): Promise<Answer> {
  const outfile = `dist/bench-${name}.mjs`; // where the .proto files are that it loads
  await build({
    entryPoints: [fileURLToPath(new URL(`${name}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    external: ['koffi', 'level', 'classic-level', 'bun:ffi'],
    logLevel: 'warning',
    banner: { js: BANNER },
  });
  const args = [...profileArgs(profileInto), ...nodeArgs, outfile, JSON.stringify(input)];
  const child = spawn('node', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
    progress(text.trimEnd());
  });
  const status = await new Promise<number | null>((ended, failed) => child.on('close', ended).on('error', failed));
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${errors.slice(-2_000)}`);
  return JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Answer;
}
