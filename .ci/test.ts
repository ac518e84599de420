/**
 * Runs tap over the test files (or those named as arguments, tap's own options included), says while it goes how each file
 * ended, and closes with a table by folder, what was skipped and why, and one line `N passed, N failed, N skipped`.
 *
 * Which files run alone and how long one may take is in .taprc, so that plain `npx tap` does the same. The raw TAP is kept in
 * .tap/last-run.tap. The exit code is tap's own; a run without a single assertion is a failure. Run by Bun, which reads
 * TypeScript as it is; the tests themselves run under the `node` of the path.
 */
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type FileSummary, readTap, type Skip } from './tap-summary.ts';

/** What hangs is ended; a run should take well under 20 minutes on two cores, and a machine that is slower today still gets its answer. */
const RUN_TIMEOUT_MS = 28 * 60_000;
const KILL_AFTER_MS = 30_000;
const RAW_PATH = '.tap/last-run.tap';
const AGAIN_PATH = '.tap/last-run-again.tap';
const IMAGE_TIMEOUT_MS = 5 * 60_000;
const IMAGE_TESTS = 'test/e2e/';
const BUNDLES_PATH = resolve('.tap/bundles');

/** So many failed files are tried again; more are no accident of timing. */
const AGAIN_MAX = 3;

/** It costs time in every process; `npm run test:coverage` asks for it. */
const coverage = process.env.ENACTOR_COVERAGE === undefined ? ['--disable-coverage'] : [];

const files: FileSummary[] = [];
const skips: Skip[] = [];
const print = (text: string) => process.stdout.write(`${text}\n`);
const indent = (text: string) => text.replace(/^/gm, '    ');

/** A failed assertion's diagnosis: texts (diffs, sources, stacks) as lines, the rest as JSON. */
function readable(diagnosis: unknown): string {
  return Object.entries(diagnosis as object)
    .map(([key, value]) =>
      typeof value === 'string' && value.includes('\n')
        ? `${key}:\n${indent(value.trimEnd())}`
        : `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    .join('\n');
}

function groupTable(): string {
  const groups = new Map<string, FileSummary[]>();
  for (const file of files) {
    const folder = /^test\/([^/]+)\//.exec(file.file)?.[1] ?? '.';
    groups.set(folder, [...(groups.get(folder) ?? []), file]);
  }
  const sum = (of: readonly FileSummary[], key: 'passed' | 'failed' | 'skipped' | 'seconds') =>
    of.reduce((total, file) => total + file[key], 0);
  const cells = (...values: readonly (string | number)[]) =>
    values.map((value, column) => (column === 0 ? `${value}`.padEnd(14) : `${value}`.padStart(9))).join('');
  const rows = [...groups].map(([folder, of]) =>
    cells(folder, of.length, sum(of, 'passed'), sum(of, 'failed'), sum(of, 'skipped'), sum(of, 'seconds').toFixed(1)),
  );
  return [cells('folder', 'files', 'passed', 'failed', 'skipped', 'seconds'), ...rows].join('\n');
}

/** A folder as an argument means the tests in it: tap itself would take every file. */
function testsIn(argument: string): readonly string[] {
  if (!statSync(argument, { throwIfNoEntry: false })?.isDirectory()) return [argument];
  const names = readdirSync(argument, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join(argument, name));
}

/**
 * tap is built anew when .taprc names other plugins than it was built with, which is so after `npm ci`. It would do so itself, but too
 * late: the runner that finds it out goes on with the loaders of the old ones, and that costs each process seconds.
 */
function buildTap(): void {
  const signature = "import { t } from 'tap'; console.log(t.pluginSignature)";
  const builtWith = execFileSync('node', ['--input-type=module', '--eval', signature], { encoding: 'utf8' });
  if (!builtWith.includes('@tapjs/typescript')) return;
  print('tap is built with the plugins of .taprc');
  execFileSync('node_modules/.bin/tap', ['build'], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Each test file with all it imports as one module: see .ci/tests. Made anew in each run, so that nothing can be stale. */
function bundleTests(files: readonly string[]): void {
  rmSync(BUNDLES_PATH, { recursive: true, force: true });
  const beganMs = Date.now();
  execFileSync('node', ['.ci/tests/bundle.mjs', BUNDLES_PATH, ...files], { stdio: ['ignore', 'ignore', 'inherit'] });
  print(`bundled ${files.length} test files in ${((Date.now() - beganMs) / 1000).toFixed(1)} s`);
}

/** What the tests of the image need of the registries is fetched here: they run in a network of their own. Without it they say that they cannot run. */
function makeImage(): void {
  const beganMs = Date.now();
  try {
    execFileSync('bun', ['.ci/image.ts', '--level', '1'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: IMAGE_TIMEOUT_MS,
    });
    print(`made the image in ${((Date.now() - beganMs) / 1000).toFixed(1)} s`);
  } catch (error) {
    print(`the image could not be made, and its tests will say so: ${error instanceof Error ? error.message : error}`);
  }
}

type Run = {
  readonly exitCode: number;
  readonly cutOff: boolean;
  readonly counts: { readonly passed: number; readonly failed: number; readonly skipped: number };
  readonly files: readonly FileSummary[];
};

/** One run of tap, told while it goes. */
async function tapOver(args: readonly string[], rawPath: string): Promise<Run> {
  const files: FileSummary[] = [];
  const { stream, counts } = readTap({
    fileEnded: (file) => {
      files.push(file);
      const word = file.failed > 0 ? 'FAIL' : file.passed > 0 ? 'ok  ' : 'skip';
      print(
        `${word} ${file.seconds.toFixed(1).padStart(6)} s  ${file.file}  ${file.passed} passed, ${file.failed} failed`,
      );
    },
    failure: ({ where, diagnosis }) => {
      print(`not ok: ${where}`);
      if (diagnosis) print(indent(typeof diagnosis === 'string' ? diagnosis : readable(diagnosis)));
    },
    skip: (skip) => skips.push(skip),
    // Coverage is a measure here and not a bar, so its remark is no error.
    note: (text) => text.startsWith('# ERROR: incomplete') || print(text),
  });
  const raw = createWriteStream(rawPath);
  const tap = spawn('node_modules/.bin/tap', ['--reporter=tap', '--no-color', ...coverage, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ENACTOR_BUNDLES: BUNDLES_PATH },
  });
  let cutOff = false;
  const end = (signal: NodeJS.Signals) => {
    cutOff = true;
    tap.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end);
  const timer = setTimeout(
    () => {
      print(`not ok: the whole run took more than ${RUN_TIMEOUT_MS / 60_000} minutes, tap is ended`);
      end('SIGTERM');
      setTimeout(() => tap.kill('SIGKILL'), KILL_AFTER_MS).unref();
    },
    startedMs + RUN_TIMEOUT_MS - Date.now(),
  );
  tap.stdout.on('data', (chunk: Buffer) => {
    raw.write(chunk);
    stream.write(chunk);
  });
  const exitCode = await new Promise<number>((resolve, reject) => {
    tap.on('error', reject);
    tap.on('close', (code) => resolve(code ?? 1));
  });
  clearTimeout(timer);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end);
  stream.end();
  raw.end();
  return { exitCode, cutOff, counts, files };
}

const startedMs = Date.now();
buildTap();
mkdirSync('.tap', { recursive: true });
const args = process.argv.slice(2).flatMap(testsIn);
const named = args.filter((argument) => argument.endsWith('.ts'));
if (process.env.ENACTOR_COVERAGE === undefined) bundleTests(named.length > 0 ? named : testsIn('test'));
if (named.length === 0 || named.some((file) => file.includes(IMAGE_TESTS))) makeImage();
const first = await tapOver(args, RAW_PATH);
files.push(...first.files);

const failed = first.files.filter((file) => file.failed > 0).map(({ file }) => file);
const counts = { ...first.counts };
let exitCode = first.exitCode;
let accidents: readonly string[] = [];
if (failed.length > 0 && failed.length <= AGAIN_MAX && !first.cutOff) {
  print(`\n${failed.length} of the files failed; once more, alone: ${failed.join(', ')}`);
  const again = await tapOver(['--jobs=1', ...failed], AGAIN_PATH);
  accidents = failed.filter((name) =>
    again.files.some(({ file, failed, passed }) => file === name && failed === 0 && passed > 0),
  );
  exitCode = again.exitCode;
  const inFirst = (of: readonly string[]) =>
    first.files.filter(({ file }) => of.includes(file)).reduce((sum, one) => sum + one.failed, 0);
  // What failed outside of any file, or in one that fails again, stays.
  counts.failed -= inFirst(accidents);
}

print('');
print(groupTable());
if (skips.length > 0) {
  print(`\nCOULD NOT RUN HERE (${skips.length}):`);
  for (const { where, reason } of skips) print(`  ${where}: ${reason}`);
}
if (accidents.length > 0) {
  print(`\nFAILED BESIDE OTHERS, PASSED ALONE (${accidents.length}), to be looked into:`);
  for (const file of accidents) print(`  ${file}`);
}
print(`\ntook ${((Date.now() - startedMs) / 1000).toFixed(0)} s; raw TAP in ${RAW_PATH}; tap exited with ${exitCode}`);
print(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = exitCode !== 0 ? exitCode : counts.failed > 0 || counts.passed === 0 ? 1 : 0;
