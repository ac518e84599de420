/**
 * Fresh network namespaces for a test, removed when it ends, also after a failure. One of them plays the host: nothing is
 * ever made in the machine's own namespace.
 */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Test } from 'tap';

type Owner = Pick<Test, 'teardown'>;

import { openKoffiLibc } from '../../../src/adapters/netlink/libc-koffi.ts';
import { inNamespace } from '../../../src/adapters/netlink/namespace.ts';

export const libc = openKoffiLibc();

/** Why namespaces cannot be made here, or false. Loud: the caller passes it to `skip`. */
export function cannotMakeNamespaces(): string | false {
  try {
    execFileSync('unshare', ['--net', 'true'], { stdio: 'ignore' });
    execFileSync('ip', ['-V'], { stdio: 'ignore' });
    return false;
  } catch {
    return 'NOT RUN: needs CAP_SYS_ADMIN and the programs unshare and ip';
  }
}

let made = 0;

export class TestNamespace {
  readonly name: string;
  readonly path: string;
  readonly fd: number;

  constructor(t: Owner, role: string) {
    made += 1;
    this.name = `enactor-${role}-${process.pid}-${made}`;
    this.path = `/run/netns/${this.name}`;
    execFileSync('ip', ['netns', 'add', this.name]);
    this.fd = openSync(this.path, 'r');
    t.teardown(() => this.remove());
    this.ip('link', 'set', 'lo', 'up');
  }

  /** `ip` in this namespace; the independent witness of what the codec did. */
  ip(...args: string[]): string {
    return execFileSync('ip', ['-n', this.name, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Many lines of `ip` at once. */
  batch(lines: readonly string[]): void {
    execFileSync('ip', ['-n', this.name, '-batch', '-'], {
      input: `${lines.join('\n')}\n`,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  }

  run<T>(work: () => T): T {
    return inNamespace(libc, this.fd, work);
  }

  /** Links, addresses, routes of all tables, rules, neighbours: what must be the same before and after. */
  state(): string {
    const parts = [
      ['-o', 'link'],
      ['-o', 'addr'],
      ['route', 'show', 'table', 'all'],
      ['-6', 'route', 'show', 'table', 'all'],
      ['rule'],
      ['-6', 'rule'],
      ['neigh'],
    ];
    return parts
      .map((args) => this.ip(...args))
      .join('\n')
      .replace(/^.* (?:STALE|DELAY|PROBE|REACHABLE|INCOMPLETE|FAILED|NOARP) *\n?/gm, '') // learned, not configured
      .replace(/^.* inet6 fe80::[0-9a-f]+:[0-9a-f:]+\/64 .*\n?/gm, '') // a device's own link-local address, once the kernel has tried it, and what leads to it
      .replace(/^(?:(?:local|anycast|multicast) )?(?:fe80::(?:[0-9a-f]+:[0-9a-f:]+|\/64)?|ff00::\/8) .*\n?/gm, '')
      .replace(/ tentative/g, '')
      .replace(/NO-CARRIER,|,LOWER_UP|state \S+| linkdown/g, '') // these follow a moment later
      .replace(/(valid_lft|preferred_lft|expires|qdisc) \S+/g, '');
  }

  #removed = false;

  remove(): void {
    if (this.#removed) return;
    this.#removed = true;
    closeSync(this.fd);
    try {
      execFileSync('ip', ['netns', 'del', this.name], { stdio: 'ignore' });
    } catch {
      // A test may have deleted it itself.
    }
  }
}
