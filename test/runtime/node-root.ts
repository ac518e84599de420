/**
 * A root file system of a node's own: this machine's, with everything that is written to it in a folder apart, and /run, /proc and /sys of its
 * own. So an init container finds a whole distribution at `/`, writes to /etc and /opt as on a node, and what it wrote is one folder to look at.
 *
 * An overlay over `/`; the folder for it is a tmpfs, since containerd's own overlays cannot lie on an overlay. It is seen by nobody but whoever
 * is started in it: from outside it is `/proc/<pid>/root`.
 * Source: overlayfs (kernel documentation); pivot_root(8); mount_namespaces(7), shared subtrees: what a runtime mounts in /run/netns is seen in
 * containers that ask for HostToContainer.
 */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { mount, unmount } from '../../src/lab/netns/libc.ts';

/** An image of Enactor is 350 MB unpacked and 130 MB packed; memory that is not used is none. */
const TMPFS = 'size=3g,mode=0755';
/** What kubelet and runtime have made on any node, before any CNI came. */
const FOLDERS = [
  'etc/cni/net.d',
  'opt/cni/bin',
  'var/lib/cni/results',
  'var/lib/kubelet/device-plugins',
  'var/lib/kubelet/pods',
  'var/log/pods',
];

export class NodeRoot {
  /** Holds all of it; anything else that has to be on no overlay may lie in it, and has the same path inside. */
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** `plugins`: files of this machine that are in the node's /opt/cni/bin. Throws SystemCallError. */
  static create(folder: string, plugins: readonly string[]): NodeRoot {
    mkdirSync(folder, { recursive: true });
    mount('tmpfs', folder, 'tmpfs', TMPFS);
    const root = new NodeRoot(folder);
    for (const name of ['root', 'work', ...FOLDERS.map((each) => `upper/${each}`)])
      mkdirSync(join(folder, name), { recursive: true });
    for (const plugin of plugins)
      symlinkSync(plugin, join(root.written, 'opt/cni/bin', plugin.split('/').at(-1) ?? ''));
    return root;
  }

  /** What was written to the node's disk, by whomever; a character device stands for what was removed. */
  get written(): string {
    return join(this.folder, 'upper');
  }

  /** Lines for a shell in a mount namespace of its own (and in the node's network namespace): afterwards `/` is this root. */
  enter(): readonly string[] {
    const at = this.folder;
    const root = `${at}/root`;
    return [
      `mount -t overlay overlay -o lowerdir=/,upperdir=${at}/upper,workdir=${at}/work ${root}`,
      `mount -t proc proc ${root}/proc`,
      `mount --rbind /dev ${root}/dev`,
      `mount -t sysfs sysfs ${root}/sys`,
      `mount --rbind /sys/fs/cgroup ${root}/sys/fs/cgroup`,
      `mount -t tmpfs -o mode=0755 tmpfs ${root}/run`,
      `mkdir -p ${root}/run/netns ${root}/run/lock ${root}${at}`,
      `mount -t tmpfs -o mode=0755 tmpfs ${root}/run/netns`,
      `mount --bind ${at} ${root}${at}`,
      `cd ${root}`,
      `mkdir -p ${root}${at}/old`,
      `pivot_root . .${at}/old`,
      `umount -l ${at}/old`,
      // As systemd has it: only then may a container see what is mounted later.
      'mount --make-rshared /',
    ];
  }

  remove(): void {
    unmount(this.folder);
  }
}
