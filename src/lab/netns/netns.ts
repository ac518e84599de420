/**
 * A named network namespace: made, entered and removed without `ip`.
 *
 * Its name is a file in the lab's run directory with the namespace bound over it, which is what CNI_NETNS and `nsenter --net=`
 * take. Source: network_namespaces(7), ip-netns(8).
 */
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { MS_BIND, mount, setNetns, unmount, unshareNetns } from './libc.ts';

const HERE = '/proc/thread-self/ns/net';
let home: number | null = null;
let away = false;

/** The namespace this process started in, kept open for good: the way back must not depend on anything that can fail. */
function homeFd(): number {
  home ??= openSync(HERE, constants.O_RDONLY);
  return home;
}

export class Netns {
  readonly path: string;
  #fd: number | null;

  private constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  /** A new, empty namespace (its `lo` is down). Throws SystemCallError without the privilege, EEXIST when the name is taken. */
  static create(path: string): Netns {
    mkdirSync(dirname(path), { recursive: true });
    closeSync(openSync(path, 'wx', 0o400));
    try {
      excursion(unshareNetns, () => mount(HERE, path, '', '', MS_BIND));
      return new Netns(path, openSync(path, constants.O_RDONLY));
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
  }

  /** An open descriptor of the namespace, for netlink requests that name one. Throws after `remove`. */
  get fd(): number {
    if (this.#fd === null) throw new Error(`${this.path} was removed`);
    return this.#fd;
  }

  /**
   * Runs `work` inside. It must be synchronous: what it starts and does not finish goes on outside, except sockets that are
   * already open and `listen(port)` without a host.
   */
  run<T>(work: () => T extends PromiseLike<unknown> ? never : T): T {
    const { fd } = this;
    return excursion(() => setNetns(fd), work);
  }

  /** Removes the name and our hold on it. The kernel frees the namespace, and every veth in it, with its last process or socket. */
  remove(): void {
    if (this.#fd === null) return;
    closeSync(this.#fd);
    this.#fd = null;
    unmount(this.path);
    rmSync(this.path, { force: true });
  }

  /** Command line that runs a program inside. */
  command(program: string, args: readonly string[]): { command: string; args: string[] } {
    return { command: 'nsenter', args: [`--net=${this.path}`, '--', program, ...args] };
  }
}

function excursion<T>(leave: () => void, work: () => T): T {
  if (away) throw new Error('already inside another network namespace: excursions do not nest');
  const back = homeFd();
  leave();
  away = true;
  try {
    return work();
  } finally {
    setNetns(back);
    away = false;
  }
}
