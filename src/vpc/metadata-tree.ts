/**
 * The paths of the metadata service as a tree, with the real one's formats: JSON for `private-ipv4s`, unquoted brackets for
 * `ipv6s`, lists by line elsewhere; a directory lists its entries, those with children end in `/`.
 *
 * Source: ECS "Instance metadata items"; clients that parse it.
 */
import { familyOf } from '../core/ip.ts';
import type { MetadataEni } from './metadata-eni.ts';
import type { MetadataView } from './metadata-view.ts';

/** A leaf is its text; undefined entries do not exist. */
export type MetadataTree = { readonly [name: string]: string | MetadataTree | undefined };

/** The tree below `/`. `roleCredentials` is the body for the instance's RAM role, null without one. */
export function metadataTree(view: MetadataView, roleCredentials: string | null): MetadataTree {
  const metaData = metaDataTree(view, roleCredentials);
  const primary = view.enis[0];
  const identity = {
    'account-id': view.ownerId,
    'instance-id': view.instanceId,
    'instance-type': view.instanceType,
    mac: primary?.mac ?? '',
    'owner-account-id': view.ownerId,
    'private-ipv4': primary?.primaryIp ?? '',
    'region-id': view.regionId,
    'serial-number': serialOf(view),
    'zone-id': view.zoneId,
    'image-id': 'lab',
  };
  const latest: MetadataTree = {
    'meta-data': metaData,
    dynamic: { 'instance-identity': { document: JSON.stringify(identity) } },
    maintenance: { 'active-system-events': '[]' },
  };
  return { '2016-01-01': latest, latest };
}

/** The text at a path, with or without a slash at its end; null: 404. */
export function metadataAt(tree: MetadataTree, path: string): string | null {
  let node: string | MetadataTree | undefined = tree;
  for (const name of path.split('/').filter((part) => part !== '')) {
    if (typeof node === 'string' || node === undefined || !Object.hasOwn(node, name)) return null;
    node = node[name];
  }
  if (node === undefined || typeof node === 'string') return node ?? null;
  const entries = Object.entries(node).filter(([, value]) => value !== undefined);
  return entries.map(([name, value]) => (typeof value === 'string' ? name : `${name}/`)).join('\n');
}

function metaDataTree(view: MetadataView, roleCredentials: string | null): MetadataTree {
  const primary = view.enis[0];
  const secondaries = primary?.ipv4.filter((ip) => ip !== primary.primaryIp) ?? [];
  return {
    'dns-conf': { nameservers: '100.100.2.136\n100.100.2.138' },
    hostname: view.instanceName,
    'image-id': 'lab',
    instance: {
      'instance-name': view.instanceName,
      'instance-type': view.instanceType,
      'max-netbw-egress': String(view.bandwidthKbps),
      'max-netbw-ingress': String(view.bandwidthKbps),
    },
    'instance-id': view.instanceId,
    mac: primary?.mac,
    network: { interfaces: { macs: Object.fromEntries(view.enis.map((eni) => [eni.mac, eniTree(eni)])) } },
    'network-type': 'vpc',
    'ntp-conf': { 'ntp-servers': 'ntp.cloud.lab' },
    'owner-account-id': view.ownerId,
    'private-ipv4': primary?.primaryIp,
    ...(view.ramRole === null || roleCredentials === null
      ? {}
      : { ram: { 'security-credentials': { [view.ramRole]: roleCredentials } } }),
    'region-id': view.regionId,
    'serial-number': serialOf(view),
    'sub-private-ipv4-list': secondaries.length === 0 ? undefined : secondaries.join('\n'),
    'vpc-cidr-block': primary?.vpcCidr,
    'vpc-id': primary?.vpcId,
    'vswitch-cidr-block': primary?.vSwitchCidr,
    'vswitch-id': primary?.vSwitchId,
    'zone-id': view.zoneId,
  };
}

function eniTree(eni: MetadataEni): MetadataTree {
  return {
    gateway: eni.gateway,
    'ipv6-gateway': eni.ipv6Gateway ?? undefined,
    ipv6s: eni.ipv6.length === 0 ? undefined : `[${eni.ipv6.join(',')}]`,
    netmask: eni.netmask,
    'network-interface-id': eni.eniId,
    'primary-ip-address': eni.primaryIp,
    'private-ipv4s': JSON.stringify(eni.ipv4.filter((ip) => familyOf(ip) === 4)),
    'vpc-cidr-block': eni.vpcCidr,
    'vpc-id': eni.vpcId,
    'vpc-ipv6-cidr-blocks': eni.vpcIpv6Cidr === null ? undefined : `[${eni.vpcIpv6Cidr}]`,
    'vswitch-cidr-block': eni.vSwitchCidr,
    'vswitch-id': eni.vSwitchId,
    'vswitch-ipv6-cidr-block': eni.vSwitchIpv6Cidr ?? undefined,
  };
}

function serialOf(view: MetadataView): string {
  return `serial-${view.instanceId}`;
}
