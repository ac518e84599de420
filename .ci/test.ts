/**
 * Runs the test files (or those named as arguments, folders too), says while it goes how each file
 * ended, and closes with a table by folder, what was skipped and why, and one line `N passed, N failed, N skipped`.
 *
 * What .taprc calls serial comes last, so that nothing waits for it in between, and two at a time, since labs wait half of their time too. Only
 * what measures is really alone. Plain `npx tap` runs the same files by their names, each serial one alone. With options, which are tap's, and where
 * coverage is measured, tap's own runner does it. The raw TAP is kept in .tap/last-run*.tap. The exit code is the runner's; a run without a single
 * assertion is a failure. Run by Bun, which reads TypeScript as it is; the tests themselves run under the `node` of the path.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { inSources } from './in-sources.ts';
import { type FileSummary, readTap, type Skip } from './tap-summary.ts';

/** What hangs is ended; a run should take well under 20 minutes on two cores, and a machine that is slower today still gets its answer. */
const RUN_TIMEOUT_MS = 28 * 60_000;
const KILL_AFTER_MS = 30_000;
const RAW_PATH = '.tap/last-run.tap';
const HEAVY_PATH = '.tap/last-run-heavy.tap';
const AGAIN_PATH = '.tap/last-run-again.tap';
const IMAGE_TIMEOUT_MS = 5 * 60_000;
const IMAGE_TESTS = 'test/e2e';
const BUNDLES_PATH = resolve('.tap/bundles');

/** What measures has the machine to itself, and the page, which shows the last of what was said: a browser that is late sees it go by. */
const ALONE = ['test/bench', 'test/inspect/page.test.ts'];
/** Of those that .taprc calls serial, on two cores. */
const HEAVY_JOBS = 2;

/** So many failed files are tried again; more are no accident of timing. */
const AGAIN_MAX = 3;

/** It costs time in every process; `npm run test:coverage` asks for it. */
const measured = process.env.ENACTOR_COVERAGE !== undefined;

const taprc = load(readFileSync('.taprc', 'utf8')) as {
  readonly jobs: number;
  readonly timeout: number;
  readonly serial: readonly string[];
  readonly 'node-arg': readonly string[];
};

const files: FileSummary[] = [];
const skips: Skip[] = [];
const print = (text: string) => process.stdout.write(`${text}\n`);
const indent = (text: string) => text.replace(/^/gm, '    ');

/** A failed assertion's diagnosis: texts (diffs, sources, stacks) as lines, the rest as JSON. Places are those of the sources. */
function readable(diagnosis: unknown): string {
  const lines = Object.entries(diagnosis as object).map(([key, value]) => {
    const text = typeof value === 'string' ? value : (placeOf(value) ?? JSON.stringify(value));
    return text.includes('\n') ? `${key}:\n${indent(text.trimEnd())}` : `${key}: ${text}`;
  });
  return inSources(lines.join('\n'), BUNDLES_PATH);
}

/** Of what tap tells as the place of an assertion. */
function placeOf(value: unknown): string | null {
  const { fileName, lineNumber, columnNumber } = Object(value) as Record<string, unknown>;
  return fileName === undefined ? null : `${fileName}:${lineNumber}:${columnNumber}`;
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
async function makeImage(): Promise<void> {
  const beganMs = Date.now();
  try {
    await promisify(execFile)('bun', ['.ci/image.ts', '--level', '1'], { timeout: IMAGE_TIMEOUT_MS });
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

const NOTHING_RUN: Run = { exitCode: 0, cutOff: false, counts: { passed: 0, failed: 0, skipped: 0 }, files: [] };

/** One run after the other, as one. */
function both(one: Run, other: Run): Run {
  const sum = (of: keyof Run['counts']): number => one.counts[of] + other.counts[of];
  return {
    exitCode: one.exitCode || other.exitCode,
    cutOff: one.cutOff || other.cutOff,
    counts: { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') },
    files: [...one.files, ...other.files],
  };
}

/** By .ci/tests/run.mjs, which has the same settings as tap but for the loaders. */
function bundledTests(files: readonly string[], jobs: number): readonly string[] {
  const nodeArgs = taprc['node-arg'].filter((arg) => !arg.startsWith('--import='));
  const settings = {
    jobs,
    timeout: taprc.timeout,
    alone: files.filter((file) => ALONE.some((entry) => isIn(file, entry))),
    nodeArgs,
  };
  return ['node', '.ci/tests/run.mjs', BUNDLES_PATH, JSON.stringify(settings), ...files];
}

const isIn = (file: string, entry: string): boolean => file === entry || file.startsWith(`${entry}/`);

/** The heavy ones last. What they need of the image is made beside the others. */
async function lightThenHeavy(files: readonly string[]): Promise<Run> {
  const image = files.some((file) => isIn(file, IMAGE_TESTS)) ? makeImage() : Promise.resolve();
  const isHeavy = (file: string): boolean => taprc.serial.some((entry) => isIn(file, entry));
  const [light, heavy] = [files.filter((file) => !isHeavy(file)), files.filter(isHeavy)];
  const first = light.length === 0 ? NOTHING_RUN : await tapOf(bundledTests(light, taprc.jobs), RAW_PATH);
  await image;
  if (first.cutOff || heavy.length === 0) return first;
  return both(first, await tapOf(bundledTests(heavy, HEAVY_JOBS), HEAVY_PATH));
}

/** By tap's own runner, in the order that it likes. */
async function asTapDoes(args: readonly string[]): Promise<Run> {
  buildTap();
  await makeImage();
  const coverage = measured ? [] : ['--disable-coverage'];
  return tapOf(['node_modules/.bin/tap', '--reporter=tap', '--no-color', ...coverage, ...args], RAW_PATH);
}

/** What a command that prints TAP says, told while it goes. */
async function tapOf([command = '', ...args]: readonly string[], rawPath: string): Promise<Run> {
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
      if (diagnosis)
        print(indent(typeof diagnosis === 'string' ? inSources(diagnosis, BUNDLES_PATH) : readable(diagnosis)));
    },
    skip: (skip) => skips.push(skip),
    // Coverage is a measure here and not a bar, so its remark is no error.
    note: (text) => text.startsWith('# ERROR: incomplete') || print(text),
  });
  const raw = createWriteStream(rawPath);
  const tap = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
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
mkdirSync('.tap', { recursive: true });
const asked = process.argv.slice(2);
for (const one of asked.some((argument) => argument.startsWith('-')) ? [] : asked) {
  if (existsSync(one) && testsIn(one).length > 0) continue;
  print(
    `${one}: ${existsSync(one) ? 'no test is in it' : 'there is no such file or folder'}; tests are test/**/*.test.ts`,
  );
  process.exit(2);
}
const args = asked.flatMap(testsIn);
const plain = !measured && args.every((argument) => argument.endsWith('.ts'));
const chosen = (args.length > 0 ? args : testsIn('test')).map((file) => relative('.', file)).sort();
if (plain) bundleTests(chosen);
const first = await (plain ? lightThenHeavy(chosen) : asTapDoes(args));
files.push(...first.files);

const failed = first.files.filter((file) => file.failed > 0).map(({ file }) => file);
const counts = { ...first.counts };
let exitCode = first.exitCode;
let accidents: readonly string[] = [];
if (failed.length > 0 && failed.length <= AGAIN_MAX && !first.cutOff) {
  print(`\n${failed.length} of the files failed; once more, alone: ${failed.join(', ')}`);
  const again = await (plain ? tapOf(bundledTests(failed, 1), AGAIN_PATH) : asTapDoes(['--jobs=1', ...failed]));
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
print(`\ntook ${((Date.now() - startedMs) / 1000).toFixed(0)} s; raw TAP in ${RAW_PATH}; exit code ${exitCode}`);
print(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = exitCode !== 0 ? exitCode : counts.failed > 0 || counts.passed === 0 ? 1 : 0;
