/** What the daemon's reply asks for, checked before anything is made. */
import { canonicalIp } from '../core/ip.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type { Shaping } from '../core/shaping.ts';
import { type AllocIPReply, IP_TYPE, type NetConf, type ReleaseIPReply } from '../core/wire.ts';
import { CNI_CODE, CniError } from './cni-error.ts';
import type { Configuration } from './configuration.ts';
import type { Connection, OnEni, PodWanted } from './pod-datapath.ts';

export const DEFAULT_MTU = 1500;

const KNOWN: readonly number[] = [IP_TYPE.vpcEni, IP_TYPE.eniMultiIp];
/** Source: linux/rtnetlink.h, RT_TABLE_MAIN. */
const MAIN_TABLE = 254;

type Reply = Pick<AllocIPReply, 'IPType' | 'NetConfs'>;

/**
 * The MTU is the daemon's word (it set the ENI's device), else the configuration's, else 1500. Of a pod's limits the runtime's word
 * counts before the daemon's, each direction for itself.
 * Throws CniError: 102 for a network we do not make, 11 for a reply that lacks what a pod needs.
 */
export function wantedFrom(
  reply: Reply,
  sandbox: Sandbox,
  { mtu, shaping, hostStackCidrs, ipvlan }: Pick<Configuration, 'mtu' | 'shaping' | 'hostStackCidrs' | 'ipvlan'>,
): PodWanted {
  const conf = reply.NetConfs?.find(({ IfName }) => IfName === undefined || IfName === '' || IfName === sandbox.ifName);
  if (conf === undefined) throw incomplete(`${sandbox.ifName} config is missing`);
  const type = reply.IPType ?? IP_TYPE.vpcIp;
  const routeTable = conf.ENIInfo?.RouteTable ?? 0;
  // An empty reply reads as VPCIP: only one that says the main table means it.
  const isKnown = type === IP_TYPE.vpcIp ? routeTable === MAIN_TABLE : KNOWN.includes(type);
  if (!isKnown || conf.ENIInfo?.Trunk === true) {
    const text = `network type ${type}${conf.ENIInfo?.Trunk === true ? ' on a trunk ENI' : ''}`;
    throw new CniError(CNI_CODE.unsupportedNetwork, `${text} is not supported`);
  }
  const ips = addressesOf(conf);
  if (ips.length === 0) throw incomplete('no valid address');
  if (routeTable <= 0) throw incomplete('no route table of the ENI');
  return {
    sandbox,
    ips,
    routeTable,
    mtu: conf.ENIInfo?.Mtu || mtu || DEFAULT_MTU,
    defaultRoute: conf.DefaultRoute === true,
    shaping: { ...ratesOf(conf), ...shaping },
    connection: connectionOf(type, ipvlan, conf, hostStackCidrs),
  };
}

function connectionOf(type: number, ipvlan: boolean, conf: NetConf, hostStackCidrs: readonly string[]): Connection {
  if (type === IP_TYPE.vpcEni) return { kind: 'exclusive', ...onEni(conf, hostStackCidrs) };
  // An address of the node's own prefix is on no ENI.
  if (type === IP_TYPE.eniMultiIp && ipvlan) return { kind: 'ipvlan', ...onEni(conf, hostStackCidrs) };
  return { kind: 'veth' };
}

function onEni({ BasicInfo, ENIInfo }: NetConf, hostStackCidrs: readonly string[]): OnEni {
  const mac = ENIInfo?.MAC ?? '';
  if (mac === '') throw incomplete('no MAC of the ENI');
  const { IPv4 = '', IPv6 = '' } = ENIInfo?.GatewayIP ?? BasicInfo?.GatewayIP ?? {};
  const gateways = [IPv4, IPv6].map((text) => canonicalIp(text)).filter((ip) => ip !== null);
  if (gateways.length === 0) throw incomplete('no gateway of the ENI');
  const { IPv4: service = '', IPv6: service6 = '' } = BasicInfo?.ServiceCIDR ?? {};
  const { IPv4: subnet = '', IPv6: subnet6 = '' } = BasicInfo?.PodCIDR ?? {};
  const said = (cidr: string) => cidr !== '';
  return {
    mac,
    gateways,
    subnets: [subnet, subnet6].filter(said),
    throughHost: [service, service6, ...hostStackCidrs].filter(said),
  };
}

/** The MACs of the ENIs that the reply gives to the interface alone. */
export function ownMacsIn(reply: Pick<ReleaseIPReply, 'IPType' | 'NetConfs'>, ifName: string): string[] {
  if (reply.IPType !== IP_TYPE.vpcEni) return [];
  return (reply.NetConfs ?? [])
    .filter(({ IfName }) => IfName === undefined || IfName === '' || IfName === ifName)
    .flatMap(({ ENIInfo }) => ENIInfo?.MAC ?? []);
}

/** Every address the reply names for this interface; what cannot be read is left out. */
export function addressesIn(reply: Reply, ifName: string): string[] {
  return (reply.NetConfs ?? [])
    .filter(({ IfName }) => IfName === undefined || IfName === '' || IfName === ifName)
    .flatMap(addressesOf);
}

function addressesOf(conf: NetConf): string[] {
  const { IPv4 = '', IPv6 = '' } = conf.BasicInfo?.PodIP ?? {};
  return [IPv4, IPv6].map((text) => canonicalIp(text.split('/')[0] ?? '')).filter((ip) => ip !== null);
}

/** uint64 comes as text, or as a number from a careless daemon; 0 is no limit. */
function ratesOf({ Pod: { Ingress, Egress } = {} }: NetConf): Shaping {
  const [ingress, egress] = [Ingress, Egress].map((rate) => Number(rate ?? 0));
  return {
    ...(ingress !== undefined && ingress > 0 && { ingress }),
    ...(egress !== undefined && egress > 0 && { egress }),
  };
}

function incomplete(text: string): CniError {
  return new CniError(CNI_CODE.tryAgainLater, `the daemon's reply has ${text}`);
}
