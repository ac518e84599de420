/**
 * Finds the lab that runs on this machine without anything that it could leave behind: by its control socket, which is reached through
 * the root directory of the lab's process.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { CONTROL_SOCKET } from './control-server.ts';

/** The name of the lab's process, as `ps -o comm` shows it. */
export const LAB_PROCESS = 'enactor-lab';

export type RunningLab = { readonly pid: number; readonly socketPath: string };

/** Labs whose files this user may reach, the latest first. */
export function findLabs(places: readonly string[] = ['/run', '/media', '/mnt', '/srv', '/opt']): RunningLab[] {
  const found: RunningLab[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || commandOf(pid) !== LAB_PROCESS) continue;
    const socketPath = places.map((place) => `/proc/${pid}/root${place}/enactor/${CONTROL_SOCKET}`).find(isSocket);
    if (socketPath !== undefined) found.push({ pid, socketPath });
  }
  return found.sort((a, b) => b.pid - a.pid);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}
