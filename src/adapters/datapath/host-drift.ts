/**
 * Settings of the host as a whole: it forwards, and a device that takes its IPv6 default route from advertisements goes on doing so.
 *
 * With forwarding on the kernel listens to advertisements only where accept_ra is 2; with 1 the route it has expires for good. Agents of the guest set 1
 * again when they configure a device anew, and forwarding goes with a reload of the host's sysctl files: both long after our start.
 * `all` of the reverse-path filters is the host's own and stays (sysctl.ts). Source: cases/field F5; Documentation/networking/ip-sysctl.rst.
 */
import { readdirSync } from 'node:fs';
import { TABLE_MAIN } from '../netlink/route.ts';
import type { Fix } from './fix.ts';
import { FAMILIES, type HostView } from './host-view.ts';
import { deviceSysctl, differing, readSysctl, type Sysctl } from './sysctl.ts';

const IPV4_FORWARDING: Sysctl = { path: '/proc/sys/net/ipv4/ip_forward', value: '1' };

/** At the start, before forwarding is turned on: whoever takes advertisements goes on. In the order in which they are to be written. `ipv6`: it forwards that too. */
export function hostSettings(ipv6: boolean): Sysctl[] {
  const devices = ipv6 && forwardsIpv6() ? readdirSync('/proc/sys/net/ipv6/conf') : [];
  return settingsWith(
    devices.filter((device) => device !== 'all' && device !== 'default'),
    ipv6,
  );
}

/** Later a device that comes anew is nobody's business of ours, unless the node's own traffic goes by it. */
export function hostFixes(view: HostView, ipv6: boolean): Fix[] {
  return differing(settingsWith(ipv6 ? uplinks(view) : [], ipv6)).map((setting) => ({
    ...{ kind: 'hostSetting', object: setting.path, pod: null, detail: `set to ${setting.value}` },
    ...{ requests: [], settings: [setting] },
  }));
}

const IPV6_FORWARDING = deviceSysctl(6, 'all', 'forwarding', 1);

/** False where the kernel has no IPv6. */
const forwardsIpv6 = (): boolean => readSysctl(IPV6_FORWARDING.path) !== null;

function settingsWith(advertised: readonly string[], ipv6: boolean): Sysctl[] {
  if (!ipv6 || !forwardsIpv6()) return [IPV4_FORWARDING];
  const kept = advertised
    .map((device) => deviceSysctl(6, device, 'accept_ra', 2))
    .filter(({ path }) => readSysctl(path) === '1');
  return [IPV4_FORWARDING, ...kept, IPV6_FORWARDING];
}

/** Devices of the main table's default routes, of both families: one whose advertised route has expired still has the other. */
function uplinks(view: HostView): string[] {
  const routes = FAMILIES.flatMap((family) => view.routes(family, TABLE_MAIN));
  const indexes = new Set(routes.flatMap(({ destination, linkIndex }) => (destination === null ? [linkIndex] : [])));
  return [...indexes].flatMap((index) => view.link(index)?.name ?? []);
}
