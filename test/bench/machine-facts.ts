/** On what a bench was run, as far as figures depend on it: without that no figure means anything. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

export type MachineFacts = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  /** Of the `node` that runs the daemon, not of Bun, which runs the benches. */
  readonly node: string;
  readonly bun: string | null;
  /** How many processes wanted a processor in the last minute, the bench's own among them. */
  readonly load: number;
  readonly on: string;
};

export function machineFacts(): MachineFacts {
  const [first] = cpus();
  return {
    cpu: (first?.model ?? 'unknown').trim(),
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: execFileSync('node', ['--version'], { encoding: 'utf8' }).trim(),
    bun: process.versions.bun ?? null,
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    on: new Date().toISOString().slice(0, 10),
  };
}

export function machineText({ cpu, cores, memoryGb, kernel, node, bun, load, on }: MachineFacts): string {
  const with_ = bun === null ? '' : `, Bun ${bun} for the plugin`;
  return `${cpu}, ${cores} cores, ${memoryGb} GB; Linux ${kernel}; Node ${node}${with_}; load ${load} at the start; ${on}`;
}

/** How much of all processors was used since the machine started, and how long that is, both in ticks. */
export function processorTicks(): { readonly busy: number; readonly all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((sum, value) => sum + value, 0);
  return { busy: all - (ticks[3] ?? 0) - (ticks[4] ?? 0), all };
}
