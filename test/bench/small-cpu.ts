/**
 * A share of one processor for one process, by the cpu controller of cgroups: what `limits.cpu` of a DaemonSet is to its container.
 *
 * Both versions are known: `cpu.cfs_quota_us` of version 1, `cpu.max` of version 2. Source: Documentation/scheduler/sched-bwc.rst;
 * cgroup-v2.rst, "CPU".
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PERIOD_US = 100_000;
const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';

export type CpuShare = { hold(pid: number): void; throttledMs(): number; end(): void };

/** Throws, saying so, where no group may be made. */
export function cpuShare(name: string, percent: number): CpuShare {
  const v2 = existsSync(join(V2, 'cgroup.controllers'));
  const folder = join(v2 ? V2 : V1, name);
  const quotaUs = (PERIOD_US * percent) / 100;
  const set = (file: string, value: string): void => writeFileSync(join(folder, file), value);
  try {
    mkdirSync(folder);
    if (v2) set('cpu.max', `${quotaUs} ${PERIOD_US}`);
    else {
      set('cpu.cfs_period_us', `${PERIOD_US}`);
      set('cpu.cfs_quota_us', `${quotaUs}`);
    }
  } catch (thrown) {
    throw new Error(`no cgroup with a share of a processor can be made here (${folder}): ${thrown}`);
  }
  return {
    hold: (pid) => set('cgroup.procs', `${pid}`),
    throttledMs: () => {
      const text = readFileSync(join(folder, 'cpu.stat'), 'utf8');
      const [, us = null] = /^throttled_usec (\d+)/m.exec(text) ?? [];
      const [, ns = '0'] = /^throttled_time (\d+)/m.exec(text) ?? [];
      return us === null ? Number(ns) / 1e6 : Number(us) / 1e3;
    },
    end: () => rmdirSync(folder),
  };
}
