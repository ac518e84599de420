/**
 * Takes off a node what an installation has left on it: files, sockets, the store, and what the daemon keeps in the kernel. Nothing is done while the
 * daemon runs or pods have our devices: without the CNI configuration their DEL would never be called.
 *
 * ENIs are the cloud's: a daemon whose marks are 0 gives them back before it is removed; what stays attached goes with the instance.
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isOurPodRule } from '../../adapters/datapath/pod-rules.ts';
import { REPLY_MARK, REPLY_PRIORITY } from '../../adapters/datapath/reply-paths.ts';
import { removeTable } from '../../adapters/netlink/filter-table.ts';
import { openKoffiLibc } from '../../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../adapters/netlink/netlink.ts';
import { deleteRule, ruleText } from '../../adapters/netlink/wire/rule.ts';
import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import { DROP_INS, MARK } from './guest-agents.ts';
import { PLUGIN_PATH } from './install.ts';
import { restoreTerwayPlugin } from './terway-name.ts';

const OURS = [
  ...['etc/cni/net.d/10-enactor.conflist', PLUGIN_PATH],
  ...['eni.socket', 'enactor.socket', 'eni_debug.socket', 'terwayd.lock'].map((name) => `run/eni/${name}`),
  'var/lib/cni/enactor',
];
/** Made for us if they were missing, so they go when nothing else is in them. */
const FOLDERS = ['run/eni', 'var/lib/cni/terway', 'etc/systemd/system/eni.service.d'];
const MARK_BYTES = 256;

/** What keeps us from it, in words; empty when nothing does. */
export function obstacles(root: string, links: readonly { readonly name: string }[]): readonly string[] {
  const pods = links.filter(({ name }) => name.startsWith(HOST_VETH_PREFIX)).length;
  return [
    ...(pods > 0 ? [`${pods} pods of this node have our devices: drain it first`] : []),
    ...(existsSync(join(root, 'run/eni/eni_debug.socket'))
      ? ['the daemon’s socket is there: delete the DaemonSet first (after a crash: --force)']
      : []),
  ];
}

/** The paths that were there and are not any more. */
export function removeFiles(root: string): readonly string[] {
  const dropIns = DROP_INS.map(({ path }) => path).filter((path) => isOurs(join(root, path)));
  const found = [...OURS, ...dropIns].filter((path) => existsSync(join(root, path)));
  for (const path of found) rmSync(join(root, path), { recursive: true });
  const terways = restoreTerwayPlugin(root);
  for (const folder of FOLDERS) {
    const path = join(root, folder);
    if (existsSync(path) && readdirSync(path).length === 0) rmdirSync(path);
  }
  return [...found, ...terways];
}

/** One of the same name may be somebody else's. */
function isOurs(path: string): boolean {
  if (!existsSync(path)) return false;
  const fd = openSync(path, 'r');
  try {
    const begin = Buffer.alloc(MARK_BYTES);
    return begin.subarray(0, readSync(fd, begin)).includes(MARK);
  } finally {
    closeSync(fd);
  }
}

/** Of the network namespace of this process: our rules, and our table of nf_tables. What went, in words. Throws NetlinkError. */
export function removeKernelObjects(): readonly string[] {
  const libc = openKoffiLibc();
  const host = new Netlink(libc);
  try {
    const rules = ([4, 6] as const).flatMap((family) =>
      host
        .rules(family)
        .filter(
          (rule) =>
            isOurPodRule(rule) ||
            (rule.priority === REPLY_PRIORITY && rule.mark?.value === REPLY_MARK && rule.mark.mask === REPLY_MARK),
        ),
    );
    host.apply(rules.map(deleteRule), ['ENOENT']);
    removeTable(libc, 'enactor');
    return rules.map(ruleText);
  } finally {
    host.close();
  }
}

export function hostLinks(): readonly { readonly name: string }[] {
  const host = new Netlink(openKoffiLibc());
  try {
    return host.links();
  } finally {
    host.close();
  }
}
