/**
 * Settings below /proc/sys/net of the namespace the calling thread is in. Device names may hold dots: paths are used, not keys.
 *
 * A container runtime shows /proc/sys read-only. Where the DaemonSet has mounted the host's own beside it, that is written instead: a name
 * below either is looked up in the network namespace of the thread that opens it, wherever the mount comes from.
 * Source: Linux, fs/proc/proc_sysctl.c and net/sysctl_net.c (net_ctl_header_lookup); cases/field P11.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { EnactorError } from '../../core/errors.ts';

/** Where deploy/base/daemonset.yaml mounts /proc/sys/net of the host. */
const WRITABLE_NET = '/host/proc/sys/net';
const NET = '/proc/sys/net';

export type Sysctl = { readonly path: string; readonly value: string };

export function deviceSysctl(family: 4 | 6, device: string, key: string, value: number): Sysctl {
  return { path: `/proc/sys/net/ipv${family}/conf/${device}/${key}`, value: `${value}` };
}

/** null when the kernel has no such setting (IPv6 is not built in). */
export function readSysctl(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
}

/** Those that the kernel has and that say otherwise. */
export function differing(wanted: readonly Sysctl[]): Sysctl[] {
  return wanted.filter(({ path, value }) => {
    const current = readSysctl(path);
    return current !== null && current !== value;
  });
}

/**
 * Writes what differs, so that a read-only /proc/sys with the right values is good enough; a setting the kernel lacks is
 * skipped. Throws EnactorError `device` that names the path.
 */
export function ensureSysctls(wanted: readonly Sysctl[]): void {
  for (const { path, value } of wanted) {
    try {
      const current = readSysctl(path);
      if (current !== null && current !== value) write(path, value);
    } catch (error) {
      throw new EnactorError(
        'device',
        `cannot set ${path} to ${value}: ${error instanceof Error ? error.message : error}`,
        error,
      );
    }
  }
}

function write(path: string, value: string): void {
  try {
    writeFileSync(path, value);
  } catch (error) {
    const beside = path.replace(NET, WRITABLE_NET);
    if ((error as NodeJS.ErrnoException).code !== 'EROFS' || !existsSync(beside)) throw error;
    writeFileSync(beside, value);
  }
}

/**
 * The value that makes one device's reverse-path filter not strict. The kernel uses the larger of the device's and `all`'s:
 * where `all` is strict (1), only loose (2) on the device wins over it. `all` itself is the host's and stays.
 * Source: Documentation/networking/ip-sysctl.rst, rp_filter.
 */
export function notStrict(allRpFilter: string | null): number {
  return allRpFilter === '1' ? 2 : 0;
}

export const ALL_RP_FILTER = '/proc/sys/net/ipv4/conf/all/rp_filter';

/** Whether the device drops what would not go back by it. */
export function isStrict(device: string): boolean {
  const values = [ALL_RP_FILTER, deviceSysctl(4, device, 'rp_filter', 0).path].map((path) => Number(readSysctl(path)));
  return Math.max(...values) === 1;
}
