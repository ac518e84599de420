/**
 * The CNI configuration that makes kubelet call our plugin. It appears whole, by one rename, once ADD can succeed, and stays through
 * restarts and upgrades: without it containerd never calls DEL.
 *
 * It is finished in a hidden folder of the directory, which runtimes pass over, and that folder goes once the file is in its place: containerd
 * (1.4 to 2.1 at least) looks again when something in the directory is written, renamed away or removed, and not when something appears in it, so a
 * file that comes by a rename from elsewhere alone would wait for containerd's next start, and the node with it.
 * `cniVersion` is 1.0.0, since containerd 1.6 refuses 1.1.0 alone; runtimes that read `cniVersions` take the newest they know, and call STATUS
 * and GC. Source: CNI SPEC 1.1, section 1; libcni reads *.conf, *.conflist and *.json of the directory alone; cases/field P6, cases/bugs B30;
 * containerd internal/cri/server/cni_conf_syncer.go (events of kind Create are ignored), issue 11715.
 */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

export const CONFLIST_NAME = '10-enactor.conflist';
const STAGING_NAME = '.enactor';

export type Conflist = {
  readonly daemonSocket: string;
  readonly dataDir: string;
  readonly mtu: number;
  readonly eniip_virtual_type?: string;
  readonly host_stack_cidrs: readonly string[];
};

export function conflistText(conflist: Conflist): string {
  const plugin = { type: 'enactor-cni', capabilities: { bandwidth: true }, ...conflist };
  const versions = { cniVersion: '1.0.0', cniVersions: ['1.0.0', '1.1.0'] };
  return `${JSON.stringify({ ...versions, name: 'enactor', plugins: [plugin] }, null, 2)}\n`;
}

/** Resolves to whether the file had to be written. Rejects with the system error, naming the path. */
export async function installConflist(directory: string, conflist: Conflist): Promise<boolean> {
  const path = join(directory, CONFLIST_NAME);
  const text = conflistText(conflist);
  const staging = join(directory, STAGING_NAME);
  if ((await readFile(path, 'utf8').catch(() => '')) === text) {
    // Left by an end in the middle: then the runtime has not looked again yet.
    await rm(staging, { recursive: true, force: true });
    return false;
  }
  await mkdir(staging, { recursive: true, mode: 0o700 });
  try {
    await place(text, join(staging, CONFLIST_NAME), path);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return true;
}

async function place(text: string, unfinished: string, path: string): Promise<void> {
  const file = await open(unfinished, 'w', 0o644);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}
