/** What is still there of a test's runtimes after they were stopped: each list must be empty. */
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export type LeftBehind = {
  /** Command lines that name the folder: containerd, its shims, runc. */
  readonly processes: readonly string[];
  /** Mount points below the folder, or mounts made of it (overlays). */
  readonly mounts: readonly string[];
  /** Control groups of the containers of this process. */
  readonly cgroups: readonly string[];
};

/** How the control groups of this process's containers begin: other tests, each in a PID namespace of its own, have theirs meanwhile. */
export const TEST_CGROUPS = `enactor-test-${randomBytes(4).toString('hex')}-`;

export async function leftBehind(folder: string): Promise<LeftBehind> {
  const processes: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    if (Number(pid) === process.pid) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(folder)) processes.push(line.replaceAll('\0', ' ').trim());
  }
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').filter((line) => line.includes(folder));
  const roots = ['', ...(await readdir('/sys/fs/cgroup').catch(() => []))];
  const cgroups: string[] = [];
  for (const root of roots) {
    const names = await readdir(join('/sys/fs/cgroup', root)).catch(() => []);
    for (const name of names) if (name.startsWith(TEST_CGROUPS)) cgroups.push(join(root, name));
  }
  return { processes, mounts, cgroups };
}
