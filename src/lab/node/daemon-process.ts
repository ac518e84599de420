/**
 * One `enactord` as a process: started with the production flags, its log in a file, its end watched.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Netns } from '../netns/netns.ts';

const STOP_TIMEOUT_MS = 15_000;

export type DaemonEnd = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export class DaemonProcess {
  readonly logPath: string;
  readonly #child: ChildProcess;
  #end: DaemonEnd | null = null;
  #asked = false;
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<DaemonEnd>;

  constructor(netns: Netns, program: string, flags: readonly string[], logPath: string) {
    this.logPath = logPath;
    const log = openSync(logPath, 'a');
    const { command, args } = netns.command(process.execPath, [program, ...flags]);
    // nsenter becomes the program it starts: signals and the pid are the daemon's own.
    this.#child = spawn(command, args, { stdio: ['ignore', log, log], env: { PATH: process.env.PATH } });
    closeSync(log);
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        this.#end ??= { code, signal };
        resolve(this.#end);
      };
      this.#child.once('exit', end);
      this.#child.once('error', () => end(null, null));
    });
  }

  get pid(): number | null {
    return this.#end === null ? (this.#child.pid ?? null) : null;
  }

  /** Null while it runs as it should; else the sentence that tells of its end. */
  get problem(): string | null {
    if (this.#end === null) return null;
    const { code, signal } = this.#end;
    if (this.#asked && code === 0) return null;
    return `enactord ended ${this.#asked ? 'badly' : 'by itself'} with ${signal ?? code ?? 'no code'}; log: ${this.logPath}`;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Asks it to end, and kills it when it does not; `problem` tells which. Idempotent. */
  async stop(): Promise<DaemonEnd> {
    this.#asked = true;
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    try {
      return await this.ended;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The last lines of its log, for people. */
  async logTail(lines: number): Promise<string[]> {
    const text = await readFile(this.logPath, 'utf8').catch(() => '');
    return text.trimEnd().split('\n').slice(-lines);
  }
}
