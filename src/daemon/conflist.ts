/**
 * The CNI configuration that makes kubelet call our plugin. It appears whole, by one rename, once ADD can succeed, and stays through
 * restarts and upgrades: without it containerd never calls DEL.
 *
 * Version 1.0.0: containerd 1.6 refuses 1.1.0. Source: CNI SPEC, section 1; libcni reads *.conf, *.conflist and *.json alone.
 */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

export const CONFLIST_NAME = '10-enactor.conflist';

export type Conflist = { readonly daemonSocket: string; readonly dataDir: string; readonly mtu: number };

/** Resolves to whether the file had to be written. Rejects with the system error, naming the path. */
export async function installConflist(directory: string, conflist: Conflist): Promise<boolean> {
  const path = join(directory, CONFLIST_NAME);
  const plugin = { type: 'enactor-cni', capabilities: { bandwidth: true }, ...conflist };
  const text = `${JSON.stringify({ cniVersion: '1.0.0', name: 'enactor', plugins: [plugin] }, null, 2)}\n`;
  if ((await readFile(path, 'utf8').catch(() => '')) === text) return false;
  await mkdir(directory, { recursive: true });
  const unfinished = join(directory, `.${CONFLIST_NAME}.${process.pid}`);
  try {
    const file = await open(unfinished, 'w', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (thrown) {
    await rm(unfinished, { force: true });
    throw thrown;
  }
  return true;
}
