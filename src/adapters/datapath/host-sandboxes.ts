/**
 * Port Sandboxes over rtnetlink and the file system.
 *
 * No process is looked for: a daemon in a pod of its own sees those of others only with the host's PID namespace. So a namespace that is
 * mounted and empty counts as there. A path below /proc says nothing, since its number may be another process's by now.
 */
import { existsSync, statfsSync } from 'node:fs';
import { EnactorError } from '../../core/errors.ts';
import { familyOf } from '../../core/ip.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Sandboxes } from '../../ports/sandboxes.ts';
import type { Libc } from '../netlink/libc.ts';
import { Netlink } from '../netlink/netlink.ts';
import { findHostVeth, isHostVeth, isOwned, routeTo } from './host-veth.ts';
import { sandboxDevice } from './sandbox-device.ts';
import { terwayVethOf } from './terway-pod.ts';

/** Source: linux/magic.h, NSFS_MAGIC. */
const NSFS_MAGIC = 0x6e736673;

export class HostSandboxes implements Sandboxes {
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  async isThere(sandbox: Sandbox, ips: readonly string[]): Promise<boolean> {
    if (isMounted(sandbox.netns)) return true;
    try {
      const host = new Netlink(this.#libc);
      try {
        const device = sandboxDevice(sandbox);
        if (findHostVeth(host, device) !== null) return true;
        const links = host.links();
        if (links.some((link) => isOwned(link, device))) return true;
        // Terway's plugin gives its devices no mark of ours.
        if (terwayVethOf(device, ips, links, (ip) => host.routes(familyOf(ip))) !== null) return true;
        return ips.some((ip) => leadsToAPod(host, ip));
      } finally {
        host.close();
      }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new EnactorError('device', `what is left of sandbox ${sandbox.containerId}: ${why}`, error);
    }
  }
}

/** Whatever it is called. */
function leadsToAPod(host: Netlink, ip: string): boolean {
  const index = routeTo(host, ip)?.linkIndex ?? null;
  return index !== null && isHostVeth(host.linkByIndex(index));
}

/** Without mount propagation a path is there and is a plain file: that tells nothing. */
function isMounted(netns: string): boolean {
  if (netns === '' || netns.startsWith('/proc/') || !existsSync(netns)) return false;
  try {
    return statfsSync(netns).type === NSFS_MAGIC;
  } catch {
    return false;
  }
}
