/**
 * `enactor lab up` ended at every phase of its life, with and without root, in a terminal and in a pipe: whenever the user has had
 * enough, nothing is left. The machine is a box of the test's own, so that all of it can be compared.
 */
import './in-box.ts';

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { BOX_VARIABLE } from '../../src/lab/box/box-command.ts';
import { prepareBox } from '../../src/lab/box/inside-box.ts';
import { AS_NOBODY, descendants, stillThere } from '../cli/lab-process.ts';
import { differences, type HostSnapshot, ownNetns, snapshotMachine, snapshotNetns } from './host-snapshot.ts';

t.setTimeout(200_000);
const DIST = resolve(process.env.ENACTOR_DIST ?? 'dist');
const PROGRAM = join(DIST, 'enactor.js');
const missing = [PROGRAM, join(DIST, 'enactord.js'), join(DIST, 'enactor-cni')].filter((path) => !existsSync(path));
const skip = missing.length > 0 && `NOT RUN: ${missing.join(', ')} not built (npm run build)`;
const PATIENCE_MS = 60_000;
const ESCAPE = '\x1b';
const HIDDEN_CURSOR = new RegExp(`${ESCAPE}\\[\\?25l`);
/** What moves or colours, and is no text. */
const CONTROL = new RegExp(`${ESCAPE}\\[[?\\d;]*[A-Za-z]|\\r`, 'g');

const { runDir } = prepareBox();

function outside(): HostSnapshot {
  const netns = ownNetns();
  try {
    return { ...snapshotNetns(netns), ...snapshotMachine(runDir) };
  } finally {
    netns.close();
  }
}

type Given = { readonly args?: readonly string[]; readonly nobody?: boolean; readonly terminal?: string };

/** A lab as a user starts it: in an empty directory, with a directory for temporary files of its own. */
class UserLab {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly #before = outside();
  readonly #dirs = ['cwd', 'tmp'].map((name) => mkdtempSync(join(tmpdir(), `enactor-up-${name}-`)));
  readonly #seen = new Map<string, { pid: number; startedAt: string; command: string }>();
  readonly #watch: NodeJS.Timeout;
  text = '';

  constructor(t: Test, { args = [], nobody = false, terminal }: Given) {
    t.teardown(() => {
      clearInterval(this.#watch);
      this.child.kill('SIGKILL');
      for (const dir of this.#dirs) rmSync(dir, { recursive: true, force: true });
    });
    const [cwd = '', tmp = ''] = this.#dirs;
    for (const dir of this.#dirs) chmodSync(dir, 0o777);
    const program = [process.execPath, PROGRAM, 'lab', 'up', ...args];
    const env = ['env', '-i', `PATH=${process.env.PATH}`, `TMPDIR=${tmp}`, `HOME=${tmp}`, 'TERM=xterm', ...program];
    const own = nobody ? ['setpriv', ...AS_NOBODY, ...env] : env;
    const shell = own.map((word) => `'${word}'`).join(' ');
    const [command = '', ...rest] =
      terminal === undefined ? own : ['script', '-qfec', `stty ${terminal}; exec ${shell}`, '/dev/null'];
    this.child = spawn(command, rest, { cwd, stdio: 'pipe', env: { PATH: process.env.PATH, SHELL: '/bin/sh' } });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.text += text;
      });
    }
    this.child.stdin?.on('error', () => {});
    this.ended = new Promise((done, fail) => {
      this.child.once('error', fail);
      this.child.once('close', (code, signal) => done({ code, signal }));
    });
    this.#watch = setInterval(() => this.#look(), 20);
  }

  /** Every process of it that ever was. */
  #look(): void {
    for (const one of descendants(this.child.pid ?? 0)) this.#seen.set(`${one.pid} ${one.startedAt}`, one);
  }

  async says(pattern: RegExp): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    while (!pattern.test(this.text)) {
      if (performance.now() > endMs || this.child.exitCode !== null)
        throw new Error(`never said ${pattern}: ${this.text}`);
      await sleep(5);
    }
  }

  /** Waits for the end and asserts that nothing is left. */
  async leavesNothing(t: Test, phase: string): Promise<number | null> {
    const { code } = await this.ended;
    clearInterval(this.#watch);
    let left: readonly string[] = [];
    for (let tries = 0; tries < 100; tries += 1) {
      left = [...differences(this.#before, outside()), ...stillThere([...this.#seen.values()])];
      if (left.length === 0) break;
      await sleep(50); // the kernel takes namespaces away in its own time
    }
    t.strictSame(left, [], `${phase}: nothing is left`);
    for (const dir of this.#dirs) {
      t.strictSame(readdirSync(dir), [], `${phase}: nor a file in ${dir.replace(/.*enactor-up-(\w+)-.*/, '$1')}`);
      rmSync(dir, { recursive: true });
    }
    t.notMatch(this.text, /\n\s+at .*\.js:\d+/, `${phase}: no stack on the terminal`);
    return code;
  }
}

/** What it says when, and when to end it. */
const phases: readonly (readonly [phase: string, pattern: RegExp | null, afterMs: number])[] = [
  ['as it starts', null, 60],
  ['as it enters the box', null, 250],
  ['as the cloud is there', /^cloud: /m, 0],
  ['as the first node is built', /^node-1: /m, 0],
  ['as daemons start', /^node-2: /m, 0],
  ['as daemons recover', /^node-2: /m, 600],
  ['as pods start', /daemons serve/, 0],
  ['as ENIs are attached', /daemons serve/, 150],
  ['as some pods run', /pod web-\d runs/, 0],
];

t.test('up: a signal at every phase leaves nothing', { skip }, async (t) => {
  for (const [index, [phase, pattern, afterMs]] of phases.entries()) {
    const lab = new UserLab(t, { args: ['--pods', '6'] });
    if (pattern !== null) await lab.says(pattern);
    await sleep(afterMs);
    lab.child.kill(index % 2 === 0 ? 'SIGINT' : 'SIGTERM');
    const code = await lab.leavesNothing(t, phase);
    // Before it can hear of it the signal ends it as it ends any program.
    t.ok([0, 130, null].includes(code), `${phase}: exit code ${code} ${lab.text}`);
  }
});

t.test('up: an impatient user, and one whose terminal goes away', { skip }, async (t) => {
  const lab = new UserLab(t, { args: ['--pods', '6'] });
  await lab.says(/pod web-\d runs/);
  lab.child.kill('SIGINT');
  await sleep(700);
  lab.child.kill('SIGINT');
  t.ok([0, 130].includes((await lab.leavesNothing(t, 'asked twice')) ?? -1));

  const hung = new UserLab(t, { args: ['--pods', '2'] });
  await hung.says(/daemons serve/);
  hung.child.stdout?.destroy();
  hung.child.stderr?.destroy();
  hung.child.kill('SIGHUP');
  await hung.leavesNothing(t, 'nobody reads it any more');

  const once = new UserLab(t, { args: ['--once'] });
  await once.says(/pods run after/);
  once.child.kill('SIGINT');
  t.not(await once.leavesNothing(t, '--once, interrupted'), 0, 'a check that was not carried out has not passed');
});

const noTerminal = spawnSync('script', ['--version']).status === 0 ? false : 'NOT RUN: script (bsdutils) is not here';
for (const [terminal, who] of [
  ['cols 12 rows 3', 'root'],
  ['cols 1 rows 1', 'root'],
  ['cols 80 rows 24', 'nobody'],
] as const) {
  t.test(`up: in a terminal of ${terminal} as ${who}, ended by Ctrl-C`, { skip: skip || noTerminal }, async (t) => {
    const lab = new UserLab(t, {
      args: ['--pods', '2'],
      terminal,
      nobody: who === 'nobody' && process.getuid?.() === 0,
    });
    // Nothing of the view can be waited for in a terminal this small but the hidden cursor with which it begins.
    await lab.says(HIDDEN_CURSOR);
    await sleep(1_000);
    const [columns, rows] = terminal.match(/\d+/g)?.map(Number) ?? [];
    const frames = lab.text.split('\x1b[J').slice(1, -1);
    t.ok(frames.length > 0, `${frames.length} frames`);
    for (const frame of frames) {
      const lines = frame.replaceAll(CONTROL, '').split('\n').slice(0, -1);
      if (lines.length >= (rows ?? 0) && rows !== 1) t.fail(`${lines.length} lines in a terminal of ${rows}`);
      const long = lines.find((line) => [...line].length > (columns ?? 0));
      if (long !== undefined) t.fail(`too long for it: ${JSON.stringify(long)}`);
    }
    lab.child.stdin?.write('\x03');
    await lab.leavesNothing(t, terminal);
    t.match(lab.text, '\x1b[?25h', 'the cursor is given back');
  });
}

t.test('up: without root, SIGTERM while pods start', { skip }, async (t) => {
  t.notOk(process.env[BOX_VARIABLE] === undefined);
  const lab = new UserLab(t, { args: ['--pods', '4'], nobody: process.getuid?.() === 0 });
  await lab.says(/daemons serve|user namespaces|refuses/i);
  if (!/daemons serve/.test(lab.text)) t.comment(`NOT RUN without root: ${lab.text}`);
  lab.child.kill('SIGTERM');
  await lab.leavesNothing(t, 'without root');
});
