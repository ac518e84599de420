/** An ENI as the model keeps it, and how others see it: the truth, the (late) Describe APIs, the (later) metadata service. */
import type { EniStatus, EniType } from '../core/eni.ts';
import type { EniView } from './requests.ts';

/** One address of an ENI with the times at which others learn of it, or cease to know it. */
export type HeldIp = { readonly ip: string; readonly shownFromMs: number; readonly metadataFromMs: number };
export type LeftIp = { readonly ip: string; readonly shownUntilMs: number; readonly metadataUntilMs: number };

export type EniRecord = {
  readonly eniId: string;
  /** Rises with every ENI made. */
  readonly order: number;
  readonly mac: string;
  readonly type: EniType;
  readonly vpcId: string;
  readonly vSwitchId: string;
  readonly zoneId: string;
  readonly createdAtMs: number;
  readonly shownFromMs: number;
  readonly trafficMode: 'Standard' | 'HighPerformance';
  name: string;
  description: string;
  deleteOnRelease: boolean;
  sourceDestCheck: boolean;
  serviceManaged: boolean;
  queueNumber: number | null;
  securityGroupIds: readonly string[];
  tags: Readonly<Record<string, string>>;
  status: EniStatus;
  /** What the Describe APIs say until `statusShownFromMs`. */
  shownStatus: EniStatus;
  statusShownFromMs: number;
  instanceId: string | null;
  deviceIndex: number | null;
  /** Whether the device is in the guest. */
  plugged: boolean;
  /** From when the metadata service lists the MAC; null: not attached. */
  macFromMs: number | null;
  /** The primary address first. */
  ipv4: HeldIp[];
  ipv6: HeldIp[];
  left: LeftIp[];
  /** A call that changes addresses is under way until then. */
  busyUntilMs: number;
  /** Raised whenever what was planned for this ENI is no longer to happen. */
  epoch: number;
};

export type Family = 4 | 6;

export function held(eni: EniRecord, family: Family): HeldIp[] {
  return family === 4 ? eni.ipv4 : eni.ipv6;
}

export function primaryIp(eni: EniRecord): string {
  return eni.ipv4[0]?.ip ?? '';
}

/** The ENI as it really is. */
export function eniTruth(eni: EniRecord): EniView {
  return view(eni, eni.status, ipsOf(eni.ipv4), ipsOf(eni.ipv6));
}

/** The ENI as the Describe APIs show it at `nowMs`; null when they do not show it yet. */
export function eniShown(eni: EniRecord, nowMs: number): EniView | null {
  if (nowMs < eni.shownFromMs) return null;
  const left = eni.left.filter((one) => nowMs < one.shownUntilMs).map((one) => one.ip);
  const shown = (ips: readonly HeldIp[]) => ips.filter((one) => nowMs >= one.shownFromMs).map((one) => one.ip);
  return view(
    eni,
    nowMs < eni.statusShownFromMs ? eni.shownStatus : eni.status,
    unique([...shown(eni.ipv4), ...left.filter(isIpv4)]),
    unique([...shown(eni.ipv6), ...left.filter((ip) => !isIpv4(ip))]),
  );
}

/** What the metadata service knows of the ENI's addresses at `nowMs`. */
export function metadataIps(eni: EniRecord, nowMs: number): { ipv4: readonly string[]; ipv6: readonly string[] } {
  const left = eni.left.filter((one) => nowMs < one.metadataUntilMs).map((one) => one.ip);
  const known = (ips: readonly HeldIp[]) => ips.filter((one) => nowMs >= one.metadataFromMs).map((one) => one.ip);
  return {
    ipv4: unique([...known(eni.ipv4), ...left.filter(isIpv4)]),
    ipv6: unique([...known(eni.ipv6), ...left.filter((ip) => !isIpv4(ip))]),
  };
}

function view(eni: EniRecord, status: EniStatus, ipv4: readonly string[], ipv6: readonly string[]): EniView {
  return {
    eniId: eni.eniId,
    mac: eni.mac,
    status,
    type: eni.type,
    vpcId: eni.vpcId,
    vSwitchId: eni.vSwitchId,
    zoneId: eni.zoneId,
    ipv4,
    ipv6,
    securityGroupIds: eni.securityGroupIds,
    tags: eni.tags,
    instanceId: eni.instanceId,
    name: eni.name,
    description: eni.description,
    primaryIp: primaryIp(eni),
    deleteOnRelease: eni.deleteOnRelease,
    sourceDestCheck: eni.sourceDestCheck,
    serviceManaged: eni.serviceManaged,
    trafficMode: eni.trafficMode,
    queueNumber: eni.queueNumber,
    deviceIndex: eni.deviceIndex,
    createdAtMs: eni.createdAtMs,
  };
}

function ipsOf(ips: readonly HeldIp[]): readonly string[] {
  return ips.map((one) => one.ip);
}

function isIpv4(ip: string): boolean {
  return !ip.includes(':');
}

function unique(ips: readonly string[]): readonly string[] {
  return [...new Set(ips)];
}
