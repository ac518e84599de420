/**
 * What a host looks like, as sorted lines by section, so that "the host is as before" is one comparison and each difference is a line that
 * can be read.
 *
 * Left out because they change by themselves: dynamic neighbours (a cache), connected sockets, counters. Device indexes are written
 * as names, since a device that comes back has another index.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { NetlinkSocket } from '../../src/adapters/netlink/netlink-socket.ts';
import { attributes, textOf } from '../../src/adapters/netlink/wire/attribute.ts';
import { DUMP } from '../../src/adapters/netlink/wire/message.ts';
import type { Netns } from '../../src/lab/netns/netns.ts';

export type HostSnapshot = Readonly<Record<string, readonly string[]>>;

const RTM_GETQDISC = 38;
const TCA_KIND = 1;
const LISTENING_TCP = '0A';
const SO_ACCEPTON = 0x10000;
/** Change by themselves. */
const RESTLESS_SYSCTL = /nf_conntrack_count|\/flush$|_seed$/;

export type SnapshotNetns = Pick<Netns, 'fd' | 'run' | 'command'>;

/** The namespace this process is in, to be closed after use. */
export function ownNetns(): SnapshotNetns & { close(): void } {
  const fd = openSync('/proc/self/ns/net', 'r');
  return {
    fd,
    run: (work) => work(),
    command: (command, args) => ({ command, args: [...args] }),
    close: () => closeSync(fd),
  };
}

/** Everything that belongs to one network namespace. */
export function snapshotNetns(netns: SnapshotNetns): HostSnapshot {
  const netlink = new Netlink(openKoffiLibc(), netns.fd);
  try {
    const links = netlink.links();
    const nameOf = (index: number | null) => links.find((link) => link.index === index)?.name ?? `#${index}`;
    const prefix = (one: { readonly ip: string; readonly prefix: number } | null) =>
      one === null ? 'default' : `${one.ip}/${one.prefix}`;
    const both = [4, 6] as const;
    return sorted({
      links: links.map(({ name, mac, mtu, up, kind }) => `${name} ${mac} mtu ${mtu} ${up ? 'up' : 'down'} ${kind}`),
      addresses: both.flatMap((family) =>
        netlink.addrs(family).map((one) => `${one.ip}/${one.prefix} dev ${nameOf(one.linkIndex)} scope ${one.scope}`),
      ),
      rules: both.flatMap((family) =>
        netlink
          .rules(family)
          .map(
            (rule) =>
              `IPv${family} ${rule.priority} from ${prefix(rule.source)} to ${prefix(rule.destination)} ` +
              `iif ${rule.incoming ?? 'any'} table ${rule.table}`,
          ),
      ),
      routes: both.flatMap((family) =>
        netlink
          .routes(family)
          .map(
            (route) =>
              `IPv${family} ${prefix(route.destination)} via ${route.gateway ?? '-'} dev ${nameOf(route.linkIndex)} table ${route.table}`,
          ),
      ),
      neighbours: links.flatMap((link) =>
        both.flatMap((family) =>
          netlink
            .neighbours(family, link.index)
            .filter(({ permanent }) => permanent)
            .map(({ ip, mac }) => `${ip} ${mac} dev ${link.name}`),
        ),
      ),
      qdiscs: qdiscs(netns).map(({ index, kind }) => `${kind} dev ${nameOf(index)}`),
      sysctls: netns.run(() => sysctls('/proc/sys/net')),
      nftables: nftables(netns),
      sockets: netns.run(listeners),
    });
  } finally {
    netlink.close();
  }
}

/** Everything of the machine (or of the box this runs in) that is not in a network namespace; files are those below `runDir`. */
export function snapshotMachine(runDir: string): HostSnapshot {
  return sorted({ mounts: mounts(), processes: processes(), files: filesBelow(runDir) });
}

/** `section: + line` for what came, `section: - line` for what went; empty when nothing did. */
export function differences(before: HostSnapshot, after: HostSnapshot): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((section) => {
    const [old, now] = [before[section] ?? [], after[section] ?? []];
    return [
      ...extra(now, old).map((line) => `${section}: + ${line}`),
      ...extra(old, now).map((line) => `${section}: - ${line}`),
    ];
  });
}

/** The snapshot without the lines that name one of these devices or tables: for what is allowed to come and go. */
export function without(snapshot: HostSnapshot, devices: readonly string[], tables: readonly number[]): HostSnapshot {
  const words = new Set(devices);
  const kept = (line: string) =>
    !line.split(/[\s/]/).some((word) => words.has(word)) && !tables.some((table) => line.endsWith(` table ${table}`));
  return Object.fromEntries(Object.entries(snapshot).map(([section, lines]) => [section, lines.filter(kept)]));
}

/** Of equal lines only as many as there are more of. */
function extra(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

function sorted(sections: Record<string, string[]>): HostSnapshot {
  return Object.fromEntries(Object.entries(sections).map(([section, lines]) => [section, lines.sort()]));
}

function qdiscs(netns: SnapshotNetns): { index: number; kind: string }[] {
  const socket = new NetlinkSocket(openKoffiLibc(), netns.fd);
  try {
    const body = Buffer.alloc(20); // struct tcmsg
    const bodies = socket.dump({ type: RTM_GETQDISC, flags: DUMP, body, operation: 'list qdiscs', object: '' });
    return bodies.map((one) => ({
      index: one.readInt32LE(4),
      kind: textOf(attributes(one, body.length).get(TCA_KIND)) ?? '',
    }));
  } finally {
    socket.close();
  }
}

function sysctls(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory()) return sysctls(path);
    if (RESTLESS_SYSCTL.test(path)) return [];
    const value = textAt(path);
    return value === null ? [] : [`${path.slice('/proc/sys/'.length)} = ${value.trim()}`];
  });
}

/** Empty where `nft` is not installed. */
function nftables(netns: SnapshotNetns): string[] {
  const { command, args } = netns.command('nft', ['list', 'ruleset']);
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter(Boolean) : [];
}

function listeners(): string[] {
  const columns = (file: string) =>
    (textAt(`/proc/thread-self/net/${file}`) ?? '')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/));
  const tcp = (['tcp', 'tcp6'] as const).flatMap((file) =>
    columns(file)
      .filter((column) => column[3] === LISTENING_TCP)
      .map((column) => `${file} ${column[1]}`),
  );
  const udp = (['udp', 'udp6'] as const).flatMap((file) => columns(file).map((column) => `${file} ${column[1]}`));
  const unix = columns('unix')
    .filter((column) => column[7] !== undefined && (Number.parseInt(column[3] ?? '', 16) & SO_ACCEPTON) !== 0)
    .map((column) => `unix ${column[7]}`);
  return [...tcp, ...udp, ...unix];
}

function mounts(): string[] {
  return (textAt('/proc/self/mountinfo') ?? '')
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(3, 5).join(' on '));
}

function processes(): string[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    if (/^State:\s+Z/m.test(textAt(`/proc/${entry}/status`) ?? 'State: Z')) return [];
    const command = (textAt(`/proc/${entry}/cmdline`) ?? '').replaceAll('\0', ' ').trim();
    return command === '' ? [] : [command];
  });
}

/** Without the databases, whose files come and go with their content. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/(^|\/)data\//.test(name))
    .map((name) => `${name}${statSync(`${directory}/${name}`, { throwIfNoEntry: false })?.isDirectory() ? '/' : ''}`);
}

/** null for what cannot be read or has gone. */
function textAt(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
