/**
 * One round of repair: reads the host once, lists what is not as wanted, and mends what may be mended now. Synchronous, so that no lease
 * is made or released meanwhile.
 */
import type { Drift } from '../../core/drift.ts';
import { repairKey } from '../../core/repair-ledger.ts';
import { sandboxKey } from '../../core/sandbox.ts';
import type { HostKept, HostWanted } from '../../ports/kernel.ts';
import { installTable } from '../netlink/filter-table.ts';
import type { Libc } from '../netlink/libc.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { type EniKind, eniLinkIn } from './eni-device.ts';
import { eniFixes } from './eni-drift.ts';
import type { Fix } from './fix.ts';
import { hostFixes } from './host-drift.ts';
import { HostView } from './host-view.ts';
import type { NodeFilter } from './node-filter.ts';
import { leftoverFixes, orphanRuleFixes, podFixes, strayRuleFixes, unclaimedIn, vethsByMac } from './pod-drift.ts';
import { type SandboxDevice, sandboxDevice } from './sandbox-device.ts';
import { ensureSysctls } from './sysctl.ts';

export type HostParts = {
  readonly libc: Libc;
  readonly kinds: readonly EniKind[];
  readonly filter: NodeFilter;
  /** The host forwards IPv6 too. */
  readonly ipv6: boolean;
};

/** `devices` remembers what a sandbox's devices are called, which takes two hashes each. Throws NetlinkError when nothing can be read. */
export function keepHost(
  netlink: Netlink,
  wanted: HostWanted,
  { libc, kinds, filter, ipv6 }: HostParts,
  devices: Map<string, SandboxDevice>,
): HostKept {
  const view = new HostView(netlink);
  const veths = vethsByMac(view);
  const macs = new Set(wanted.enis.map(({ mac }) => mac.toLowerCase()));
  const fixes: Fix[] = [...(wanted.thorough ? hostFixes(view, ipv6) : []), ...filter.fixes(view, macs)];
  const whole: string[] = [];
  const begun: string[] = [];
  for (const eni of wanted.enis) {
    fixes.push(...eniFixes(view, eni, eniLinkIn(view.links, eni.mac, kinds), wanted.thorough));
    fixes.push(...strayRuleFixes(view, eni.freeIps));
  }
  const held = new Set(wanted.pods.flatMap(({ ips }) => ips));
  const tables = new Set(wanted.enis.map(({ routeTable }) => routeTable));
  if (wanted.thorough) fixes.push(...orphanRuleFixes(view, knownIps(wanted), tables));
  for (const left of wanted.dead) fixes.push(...leftoverFixes(view, veths, left, held));
  for (const pod of wanted.pods) {
    const key = sandboxKey(pod.sandbox);
    const device = devices.get(key) ?? sandboxDevice(pod.sandbox);
    devices.set(key, device);
    const found = podFixes(view, veths, pod, device, wanted.thorough);
    fixes.push(...found.fixes);
    if (found.whole) whole.push(key);
    if (found.begun) begun.push(key);
  }
  for (const key of devices.keys()) if (!wanted.claimed.has(key)) devices.delete(key);
  const drifts = fixes.map((fix) => carriedOut(netlink, libc, fix, wanted.heldOff)).filter((drift) => drift !== null);
  return { drifts, whole, begun, unclaimed: wanted.thorough ? unclaimedIn(view, wanted.claimed) : [] };
}

/** Of ENIs in use, of leases, and of sandboxes that are known to be dead. */
function knownIps({ enis, pods, dead }: HostWanted): ReadonlySet<string> {
  return new Set([...enis, ...pods, ...dead].flatMap(({ ips }) => ips));
}

/** null: the kernel says that it is as wanted already. A list that others change while it is read may lack what is there (dumpByPosition). */
function carriedOut(netlink: Netlink, libc: Libc, fix: Fix, heldOff: ReadonlySet<string>): Drift | null {
  const { kind, object, pod, detail, requests, settings = [], filter, tolerated = [] } = fix;
  const drift = { kind, object, pod, detail };
  if (requests.length + settings.length === 0 && filter === undefined) return { ...drift, outcome: 'beyondRepair' };
  if (heldOff.has(repairKey(fix))) return { ...drift, outcome: 'heldOff' };
  try {
    ensureSysctls(settings);
    if (filter !== undefined) installTable(libc, filter);
    const changed = netlink.apply(requests, tolerated);
    if (!changed && requests.length > 0 && settings.length === 0 && filter === undefined) return null;
    return { ...drift, outcome: 'repaired' };
  } catch (error) {
    return { ...drift, outcome: 'failed', detail: error instanceof Error ? error.message : String(error) };
  }
}
