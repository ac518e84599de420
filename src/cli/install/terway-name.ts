/**
 * Our plugin under the name of Terway's, on a node that had Terway: a runtime may call DEL of a pod with the configuration that its ADD was made
 * with (CRI-O does), which names that file. Terway's own is kept beside it and comes back with the uninstallation.
 *
 * A file of its own and no link: Terway's init container copies its plugin to that very path, and must not write into ours.
 * Source: cases/field P15; Terway, hack/init.sh.
 */
import { existsSync, linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isLockHeld } from '../../adapters/locks/file-lock.ts';
import { PLUGIN_MARK } from '../../core/plugin-mark.ts';

export const TERWAY_PLUGIN = 'opt/cni/bin/terway';
export const TERWAY_PLUGIN_KEPT = 'opt/cni/bin/terway.before-enactor';
/** One file, but where the second path is no link to the first. */
const LOCKS = ['run/eni/terwayd.lock', 'var/run/eni/terwayd.lock'] as const;

/** Whether there is a plugin of that name on this host, or was before us. */
export function hadTerway(root: string): boolean {
  return [TERWAY_PLUGIN, TERWAY_PLUGIN_KEPT].some((path) => existsSync(join(root, path)));
}

/**
 * Whether Terway's daemon is at work here, and the plugin of that name is its own: ours would ask a daemon that cannot start, and no pod of the node
 * would come up.
 */
export function terwayWorks(root: string): boolean {
  const theirs = join(root, TERWAY_PLUGIN);
  return existsSync(theirs) && !isOurs(theirs) && LOCKS.some((path) => isLockHeld(join(root, path)));
}

/** Before ours takes its place. At no time there is none. */
export function keepTerwayPlugin(root: string): void {
  const [theirs, kept] = [join(root, TERWAY_PLUGIN), join(root, TERWAY_PLUGIN_KEPT)];
  if (!existsSync(theirs) || isOurs(theirs)) return;
  const unfinished = `${kept}.new`;
  rmSync(unfinished, { force: true });
  linkSync(theirs, unfinished);
  renameSync(unfinished, kept);
}

/** The paths that were changed. */
export function restoreTerwayPlugin(root: string): readonly string[] {
  const [ours, kept] = [join(root, TERWAY_PLUGIN), join(root, TERWAY_PLUGIN_KEPT)];
  if (existsSync(kept)) {
    // One that is there and is not ours Terway has put there itself since.
    if (existsSync(ours) && !isOurs(ours)) rmSync(kept);
    else renameSync(kept, ours);
    return [TERWAY_PLUGIN_KEPT];
  }
  if (!existsSync(ours) || !isOurs(ours)) return [];
  rmSync(ours);
  return [TERWAY_PLUGIN];
}

const isOurs = (path: string): boolean => readFileSync(path).includes(PLUGIN_MARK);
