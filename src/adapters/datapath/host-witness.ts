/**
 * Port Host over rtnetlink and /proc. A host end is believed to be its alias's sandbox only if its MAC is that sandbox's: anyone can
 * write an alias, and an alias can outlive what it was written for.
 */
import { readFile } from 'node:fs/promises';
import { EnactorError } from '../../core/errors.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Host, HostLink, HostPod } from '../../ports/host.ts';
import type { Libc } from '../netlink/libc.ts';
import type { Link } from '../netlink/link.ts';
import { Netlink } from '../netlink/netlink.ts';
import { TABLE_MAIN } from '../netlink/route.ts';
import { isHostVeth, isOwned } from './host-veth.ts';
import { FROM_POD_PRIORITY, hostPrefix } from './pod-plan.ts';
import { DIRECT_GROUP, sandboxDevice } from './sandbox-device.ts';
import { isPodTable, isTerwaySlave, oldTerwayRules } from './terway-pod.ts';

export const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

export type HostWitness = Host & {
  /**
   * What the host leads to over its own slaves of ENIs (`isTerwaySlave`), one for each address. A route of these outlives the pod where Terway's plugin is not
   * called for its DEL, so that it holds nothing back.
   */
  behindSlaves(): Promise<readonly Pick<HostPod, 'device' | 'ips'>[]>;
};

export function hostWitness(libc: Libc, bootIdFile: string = BOOT_ID_FILE): HostWitness {
  const read = async <T>(what: string, look: (host: Netlink) => T): Promise<T> => {
    let host: Netlink | null = null;
    try {
      host = new Netlink(libc);
      return look(host);
    } catch (thrown) {
      throw new EnactorError('device', `cannot list ${what} of this host: ${(thrown as Error).message}`, thrown);
    } finally {
      host?.close();
    }
  };
  return {
    async bootId() {
      try {
        return (await readFile(bootIdFile, 'utf8')).trim();
      } catch (thrown) {
        throw new EnactorError('device', `cannot read ${bootIdFile}: ${(thrown as Error).message}`, thrown);
      }
    },
    pods: () => read('pods', podsOf),
    behindSlaves: () => read('pods', behindSlavesOf),
    links: () =>
      read('devices', (host) =>
        host
          .links()
          .flatMap(({ mac, name, index }): HostLink[] =>
            mac === null ? [] : [{ mac: mac.toLowerCase(), name, ifindex: index }],
          ),
      ),
  };
}

function podsOf(host: Netlink): HostPod[] {
  const tables = new Map<string, number>();
  const rules = [...host.rules(4), ...host.rules(6)];
  for (const { source, table } of oldTerwayRules(rules)) if (source !== null) tables.set(source.ip, table);
  for (const { priority, source, table } of rules)
    if (priority === FROM_POD_PRIORITY && source !== null) tables.set(source.ip, table);
  const behind = behindDevices(host);
  return host.links().flatMap((link): HostPod[] => {
    if (!isHostVeth(link)) return [];
    const ips = [...(behind.get(link.index) ?? [])];
    if (ips.length === 0) return [];
    // No rule leads the traffic of a pod on the network itself.
    const otherwise = link.group === DIRECT_GROUP ? TABLE_MAIN : null;
    const routeTable = ips.map((ip) => tables.get(ip)).find((table) => table !== undefined) ?? otherwise;
    return [{ device: link.name, ips, routeTable, sandbox: sandboxOf(link) }];
  });
}

function behindSlavesOf(host: Netlink): Pick<HostPod, 'device' | 'ips'>[] {
  const behind = behindDevices(host);
  const slaves = host.links().filter(isTerwaySlave);
  return slaves.flatMap(({ index, name }) => [...(behind.get(index) ?? [])].map((ip) => ({ device: name, ips: [ip] })));
}

/** Once for all: a node has as many routes as pods. Terway's v1.0.10 has them in the tables of the ENIs. */
function behindDevices(host: Netlink): ReadonlyMap<number, ReadonlySet<string>> {
  const behind = new Map<number, Set<string>>();
  for (const { linkIndex, destination, table } of [...host.routes(4), ...host.routes(6)]) {
    if (linkIndex === null || destination === null || destination.prefix !== hostPrefix(destination.ip).prefix)
      continue;
    if (isPodTable(table)) behind.set(linkIndex, (behind.get(linkIndex) ?? new Set()).add(destination.ip));
  }
  return behind;
}

/** Source: sandbox-device.ts, `alias`: `enactor:<namespace>/<name> <interface> <container id>`. */
const ALIAS = /^enactor:([^/\s]+)\/(\S+) (\S+) (\S+)$/;

function sandboxOf(link: Link): Pick<Sandbox, 'containerId' | 'ifName' | 'pod'> | null {
  const [, namespace, name, ifName, containerId] = ALIAS.exec(link.alias ?? '') ?? [];
  if (namespace === undefined || name === undefined || ifName === undefined || containerId === undefined) return null;
  const sandbox = { containerId, ifName, pod: { namespace, name, uid: null } };
  return isOwned(link, sandboxDevice(sandbox)) ? sandbox : null;
}
