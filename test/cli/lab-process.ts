/** `enactor lab up` as a process of its own, with what it said and what it started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BOX_VARIABLE } from '../../src/lab/box/box-command.ts';

/** What was built; ENACTOR_DIST names another build. */
const DIST = process.env.ENACTOR_DIST ?? 'dist';
export const PROGRAM = `${DIST}/enactor.js`;
const NOBODY = '65534';
/** Arguments of setpriv. */
export const AS_NOBODY = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'];

export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly text: string };

export class LabProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  text = '';

  constructor(args: readonly string[], as: 'me' | 'nobody' = 'me') {
    const program = [process.execPath, PROGRAM, 'lab', 'up', ...args];
    // Not inside the test's own box, as far as the lab knows; and without what tap would load into it through NODE_OPTIONS, which
    // tap puts back into the environment of every child.
    const own = ['env', `--unset=${BOX_VARIABLE}`, '--unset=NODE_OPTIONS', ...program];
    const [command = '', ...rest] = as === 'me' ? own : ['setpriv', ...AS_NOBODY, ...own];
    this.child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.text += text;
      });
    }
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => resolve({ code, signal, text: this.text }));
    });
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('the lab was not started');
    return this.child.pid;
  }

  async says(pattern: RegExp, timeoutMs = 60_000): Promise<void> {
    const endMs = performance.now() + timeoutMs;
    while (!pattern.test(this.text)) {
      if (performance.now() > endMs || this.child.exitCode !== null) {
        throw new Error(`it never said ${pattern}, but:\n${this.text}`);
      }
      await sleep(50);
    }
  }
}

/** Every process that descends from `pid`, with a start time that tells it from a later one of the same number. */
export function descendants(pid: number): { pid: number; startedAt: string; command: string }[] {
  const all = readdirSync('/proc').flatMap((entry) => {
    const stat = statOf(Number(entry));
    return stat === null ? [] : [{ pid: Number(entry), ...stat }];
  });
  const of = (parent: number): typeof all =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...of(one.pid)]);
  return of(pid).map(({ pid: number, startedAt, command }) => ({ pid: number, startedAt, command }));
}

export function stillThere(processes: readonly { pid: number; startedAt: string; command: string }[]): string[] {
  return processes
    .filter(({ pid, startedAt }) => {
      const stat = statOf(pid);
      return stat !== null && stat.startedAt === startedAt && stat.state !== 'Z';
    })
    .map(({ pid, command }) => `${pid} ${command}`);
}

export function isBuilt(): boolean {
  return [PROGRAM, `${DIST}/enactord.js`, `${DIST}/enactor-cni`].every((path) => existsSync(path));
}

function statOf(pid: number): { parent: number; state: string; startedAt: string; command: string } | null {
  if (!Number.isInteger(pid)) return null;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command is in parentheses and may hold any character: what follows the last one is regular.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const command = text.slice(text.indexOf('('), text.lastIndexOf(')') + 1);
    return { state: fields[0] ?? '', parent: Number(fields[1]), startedAt: fields[19] ?? '', command };
  } catch {
    return null;
  }
}
