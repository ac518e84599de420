import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Kernel parameters below /proc/sys, named with slashes (`net/ipv4/ip_forward`) since device names may hold dots.
 *
 * /proc/sys/net shows the namespace of the thread that opens the file: call these synchronously, inside `Netns.run`.
 */
export function writeSysctl(name: string, value: string): void {
  writeFileSync(`/proc/sys/${name}`, value);
}

export function readSysctl(name: string): string {
  return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
}
