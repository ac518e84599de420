/** What of the lab is still there after its end, as sentences; an empty list is the aim. Meant for inside the box. */
import { readdirSync, readFileSync } from 'node:fs';
import { mountsBelow } from './box/inside-box.ts';

/** Processes of the box besides this one, mounts below the run directory but the directory's own. */
export function leftovers(runDir: string): string[] {
  const mounts = mountsBelow(runDir).map((point) => `mount ${point}`);
  return [...processes(), ...mounts];
}

function processes(): string[] {
  const found: string[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const process_ = describe(pid);
    if (process_ !== null) found.push(process_);
  }
  return found;
}

/** Null for a process that has ended meanwhile, a zombie (its parent is this process or gone), or one outside the box. */
function describe(pid: number): string | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    if (/^State:\s+Z/m.test(status)) return null;
    // Where /proc is still the host's, only processes with a number of their own in a second PID namespace are the box's.
    const numbers = /^NSpid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
    const own = /^NSpid:\s+(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]?.split(/\s+/) ?? [];
    if (numbers.length < own.length || numbers.at(-1) === own.at(-1)) return null;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return `process ${pid} ${command.slice(0, 120)}`;
  } catch {
    return null;
  }
}
