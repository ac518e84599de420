/**
 * A host as administrators harden it (B37): reverse-path filters strict everywhere, no forwarding by default, and a primary card with another name than
 * eth0. Meanwhile somebody else's devices come and go on it all the time.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ImageNode } from './image-node.ts';

export const PRIMARY = 'ens5';
const STRICT = {
  'all/rp_filter': '1',
  'default/rp_filter': '1',
  'eth0/rp_filter': '1',
  'default/forwarding': '0',
} as const;
const conf = (path: string) => `/proc/sys/net/ipv4/conf/${path}`;

/** As every node of a cluster does before any CNI comes. Source: kubeadm, preflight check of ip_forward. */
export function forwards(node: ImageNode): void {
  node.lab.guest.netns.run(() => writeFileSync('/proc/sys/net/ipv4/ip_forward', '1'));
}

/** Before anything of Enactor is there. */
export async function harden(node: ImageNode): Promise<void> {
  const { netns } = node.lab.guest;
  netns.run(() => {
    for (const [path, value] of Object.entries(STRICT)) writeFileSync(conf(path), value);
  });
  const routes = (await node.run('ip', ['route', 'show', 'default'])).trim();
  for (const words of [['down'], ['name', PRIMARY]]) await node.run('ip', ['link', 'set', 'eth0', ...words]);
  await node.run('ip', ['link', 'set', PRIMARY, 'up']);
  await node.run('ip', ['route', 'replace', ...routes.replace('eth0', PRIMARY).split(/\s+/)]);
}

/** The settings that are not ours to change, as they are now. (Those of the primary are: it is loose, so that answers find their way.) */
export function strictness(node: ImageNode): Readonly<Record<string, string>> {
  const paths = ['all/rp_filter', 'default/rp_filter'];
  return node.lab.guest.netns.run(() =>
    Object.fromEntries(paths.map((path) => [path, readFileSync(conf(path), 'utf8').trim()])),
  );
}

export class ForeignDevices {
  /** Pairs that came and went. */
  pairs = 0;
  #stopped = false;
  readonly #done: Promise<void>;

  constructor(node: ImageNode) {
    this.#done = this.#comeAndGo(node);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #comeAndGo(node: ImageNode): Promise<void> {
    while (!this.#stopped) {
      await node.run('ip', ['link', 'add', 'theirs0', 'type', 'veth', 'peer', 'name', 'theirs1']);
      await node.run('ip', ['link', 'del', 'theirs0']);
      this.pairs += 1;
      await sleep(100);
    }
  }
}
