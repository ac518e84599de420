/**
 * The daemon: src/daemon/boot.ts as `enactord.js`, the rest as one script, `enactord.cjs`, and what Node's V8 has compiled of that by the time its command
 * line is read (src/daemon/compiled-code.ts). The last holds for the very Node that made it; any other compiles the script itself.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type BuildOptions, build } from 'esbuild';
import { COMPILE_INTO, isCompiledName } from '../src/daemon/compiled-code.ts';

const DIGEST_DIGITS = 16;
const LINE_MAX = 160; // places in stacks shall tell something

export async function buildDaemon(into: string, shared: BuildOptions): Promise<void> {
  const script = `${into}/enactord.cjs`;
  await build({
    ...shared,
    entryPoints: ['src/daemon/main.ts'],
    outfile: script,
    format: 'cjs',
    banner: {},
    define: { 'import.meta.url': '__url' },
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: LINE_MAX,
  });
  const text = asciiOnly(readFileSync(script, 'utf8'));
  writeFileSync(script, text);
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_DIGITS);
  await build({
    ...shared,
    entryPoints: ['src/daemon/boot.ts'],
    outfile: `${into}/enactord.js`,
    define: { SCRIPT_DIGEST: JSON.stringify(digest) },
    sourcemap: false,
  });
}

/** Of letters beyond ASCII esbuild leaves those in regular expressions; an escape says the same there. */
function asciiOnly(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  return text.replace(/[^\x00-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Where `enactord.js` has its final name already: what was compiled bears the path in it. Of earlier builds nothing stays. */
export function compileDaemon(dist: string): void {
  for (const name of readdirSync(dist)) if (isCompiledName(name)) rmSync(`${dist}/${name}`);
  const args = [`${dist}/enactord.js`, COMPILE_INTO, dist, '--help'];
  execFileSync('node', args, { stdio: ['ignore', 'ignore', 'inherit'], env: { PATH: process.env.PATH } });
}
