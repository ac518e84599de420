/**
 * kube-proxy's rules in its iptables form, as text for `iptables-restore --noflush` (`ip6tables-restore` for IPv6).
 *
 * Written after its real output: chains, order, comments and hashes are those of Kubernetes 1.28 to 1.31. Not in it: source ranges of
 * load balancers, health check ports, topology, nfacct counters.
 * Source: kubernetes/kubernetes pkg/proxy/iptables/proxier.go and the output its TestOverallIPTablesRules expects.
 */
import { createHash } from 'node:crypto';
import type { LocalTraffic, ProxyNode } from './local-traffic.ts';
import type { Endpoint, ServicePort } from './service-port.ts';

export const MASQUERADE_MARK = '0x4000';

/** Of iptables-save's form, without the jumps from the built-in chains (IPTABLES_JUMPS). */
export function iptablesRules(ports: readonly ServicePort[], node: ProxyNode, family: 4 | 6): string {
  const chains = new Set([...NAT_CHAINS]);
  const [nodePorts, services, rest]: [string[], string[], string[]] = [[], [], []];
  const filter = { services: [] as string[], external: [] as string[] };
  for (const port of ports) {
    const { internal, external, locals, all } = chainsOf(port, node);
    for (const [what, ip] of externalIpsOf(port)) {
      if (port.endpoints.length === 0)
        filter.external.push(`${refusal(port, 'has no endpoints', to(port, ip))} REJECT`);
      else if (port.local && locals.length === 0)
        filter.external.push(`${refusal(port, 'has no local endpoints', to(port, ip))} DROP`);
      if (all.length > 0)
        services.push(`-A KUBE-SERVICES ${said(`${port.title} ${what}`)} ${to(port, ip)} -j ${external}`);
    }
    const atNode = `-m addrtype --dst-type LOCAL ${match(port)} --dport ${port.nodePort}`;
    if (port.nodePort !== null && all.length === 0)
      filter.external.push(`${refusal(port, 'has no endpoints', atNode)} REJECT`);
    if (all.length === 0) {
      filter.services.push(
        `-A KUBE-SERVICES ${said(`${port.title} has no endpoints`)} ${to(port, port.clusterIp)} -j REJECT`,
      );
      continue;
    }
    services.unshift(`-A KUBE-SERVICES ${said(`${port.title} cluster IP`)} ${to(port, port.clusterIp)} -j ${internal}`);
    if (port.nodePort !== null) {
      nodePorts.push(`-A KUBE-NODEPORTS ${said(port.title)} ${match(port)} --dport ${port.nodePort} -j ${external}`);
      if (port.local && locals.length === 0)
        filter.external.push(`${refusal(port, 'has no local endpoints', atNode)} DROP`);
    }
    rest.push(...serviceRules(port, node, chains));
  }
  return [
    '*filter',
    ...FILTER_CHAINS.map((name) => `:${name} - [0:0]`),
    ...filter.services,
    ...filter.external,
    ...(family === 6 ? [] : [LOCALNET_RULE]),
    '-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP',
    `-A KUBE-FORWARD ${said('kubernetes forwarding rules')} -m mark --mark ${MASQUERADE_MARK}/${MASQUERADE_MARK} -j ACCEPT`,
    `-A KUBE-FORWARD ${said('kubernetes forwarding conntrack rule')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
    'COMMIT',
    '*nat',
    ...[...chains].map((name) => `:${name} - [0:0]`),
    `-A KUBE-POSTROUTING -m mark ! --mark ${MASQUERADE_MARK}/${MASQUERADE_MARK} -j RETURN`,
    `-A KUBE-POSTROUTING -j MARK --xor-mark ${MASQUERADE_MARK}`,
    `-A KUBE-POSTROUTING ${said('kubernetes service traffic requiring SNAT')} -j MASQUERADE --random-fully`,
    `-A KUBE-MARK-MASQ -j MARK --or-mark ${MASQUERADE_MARK}`,
    ...nodePorts,
    ...services,
    `-A KUBE-SERVICES ${said('kubernetes service nodeports; NOTE: this must be the last rule in this chain')} -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS`,
    ...rest,
    'COMMIT',
    '',
  ].join('\n');
}

export type Jump = { readonly table: string; readonly chain: string; readonly rule: string };

/** Jumps from the built-in chains. kube-proxy makes those that are missing, in this order, each at the head of its chain. */
export const IPTABLES_JUMPS: readonly Jump[] = [
  jump('filter', 'INPUT', 'KUBE-EXTERNAL-SERVICES', 'kubernetes externally-visible service portals', true),
  jump('filter', 'FORWARD', 'KUBE-EXTERNAL-SERVICES', 'kubernetes externally-visible service portals', true),
  jump('filter', 'INPUT', 'KUBE-NODEPORTS', 'kubernetes health check service ports', false),
  jump('filter', 'FORWARD', 'KUBE-SERVICES', 'kubernetes service portals', true),
  jump('filter', 'OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals', true),
  jump('filter', 'FORWARD', 'KUBE-FORWARD', 'kubernetes forwarding rules', false),
  jump('filter', 'INPUT', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', true),
  jump('filter', 'OUTPUT', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', true),
  jump('filter', 'FORWARD', 'KUBE-PROXY-FIREWALL', 'kubernetes load balancer firewall', true),
  jump('filter', 'INPUT', 'KUBE-FIREWALL', null, false),
  jump('filter', 'OUTPUT', 'KUBE-FIREWALL', null, false),
  jump('nat', 'OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals', false),
  jump('nat', 'PREROUTING', 'KUBE-SERVICES', 'kubernetes service portals', false),
  jump('nat', 'POSTROUTING', 'KUBE-POSTROUTING', 'kubernetes postrouting rules', false),
];

const FILTER_CHAINS = [
  'KUBE-NODEPORTS',
  'KUBE-SERVICES',
  'KUBE-EXTERNAL-SERVICES',
  'KUBE-FIREWALL',
  'KUBE-FORWARD',
  'KUBE-PROXY-FIREWALL',
];
const NAT_CHAINS = ['KUBE-NODEPORTS', 'KUBE-SERVICES', 'KUBE-MARK-MASQ', 'KUBE-POSTROUTING'];
const LOCALNET_RULE = `-A KUBE-FIREWALL ${said('block incoming localnet connections')} -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`;

export function jump(table: string, chain: string, target: string, comment: string | null, fresh: boolean): Jump {
  const parts = [
    ...(fresh ? ['-m conntrack --ctstate NEW'] : []),
    ...(comment === null ? [] : [said(comment)]),
    `-j ${target}`,
  ];
  return { table, chain, rule: parts.join(' ') };
}

/** Where packets to the service go: `external` names the chain for what comes to an address that the world can see. */
function chainsOf(port: ServicePort, node: ProxyNode) {
  const hash = chainHash(port.title, port.protocol);
  const locals = port.endpoints.filter(({ nodeName }) => nodeName === node.name);
  return {
    internal: `KUBE-SVC-${hash}`,
    external: `KUBE-EXT-${hash}`,
    locally: `KUBE-SVL-${hash}`,
    locals,
    all: port.endpoints,
  };
}

function serviceRules(port: ServicePort, node: ProxyNode, chains: Set<string>): string[] {
  const { internal, external, locally, locals, all } = chainsOf(port, node);
  const rules: string[] = [];
  const seen = port.nodePort !== null || externalIpsOf(port).length > 0;
  if (seen) {
    chains.add(external);
    const about = `${port.title} external destinations`;
    if (port.local) {
      rules.push(
        `-A ${external} ${said(`pod traffic for ${about}`)} ${ofPods(node.local, port)} -j ${internal}`,
        `-A ${external} ${said(`masquerade LOCAL traffic for ${about}`)} -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ`,
        `-A ${external} ${said(`route LOCAL traffic for ${about}`)} -m addrtype --src-type LOCAL -j ${internal}`,
      );
      if (locals.length > 0) rules.push(`-A ${external} -j ${locally}`);
    } else {
      rules.push(
        `-A ${external} ${said(`masquerade traffic for ${about}`)} -j KUBE-MARK-MASQ`,
        `-A ${external} -j ${internal}`,
      );
    }
  }
  chains.add(internal);
  rules.push(
    `-A ${internal} ${said(`${port.title} cluster IP`)} ${to(port, port.clusterIp)} ${ofOthers(node.local, port)} -j KUBE-MARK-MASQ`,
    ...spread(internal, port, all),
  );
  if (seen && port.local && locals.length > 0) {
    chains.add(locally);
    rules.push(...spread(locally, port, locals));
  }
  for (const endpoint of all) {
    const chain = endpointChain(port, endpoint);
    chains.add(chain);
    const recent = port.affinityS === null ? '' : ` -m recent --name ${chain} --set`;
    rules.push(
      `-A ${chain} ${said(port.title)} -s ${endpoint.ip} -j KUBE-MARK-MASQ`,
      `-A ${chain} ${said(port.title)}${recent} ${match(port)} -j DNAT --to-destination ${hostPort(endpoint)}`,
    );
  }
  return rules;
}

/** One endpoint by chance, or the one that this client had before. */
function spread(chain: string, port: ServicePort, endpoints: readonly Endpoint[]): string[] {
  const about = (endpoint: Endpoint) => said(`${port.title} -> ${hostPort(endpoint)}`);
  const again = endpoints.map((endpoint) => {
    const name = endpointChain(port, endpoint);
    return `-A ${chain} ${about(endpoint)} -m recent --name ${name} --rcheck --seconds ${port.affinityS} --reap -j ${name}`;
  });
  const chance = endpoints.map((endpoint, index) => {
    const left = endpoints.length - index;
    const odds = left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(10)}`;
    return `-A ${chain} ${about(endpoint)}${odds} -j ${endpointChain(port, endpoint)}`;
  });
  return [...(port.affinityS === null ? [] : again), ...chance];
}

function externalIpsOf(port: ServicePort): [what: string, ip: string][] {
  return [
    ...port.externalIps.map((ip): [string, string] => ['external IP', ip]),
    ...port.loadBalancerIps.map((ip): [string, string] => ['loadbalancer IP', ip]),
  ];
}

function endpointChain(port: ServicePort, endpoint: Endpoint): string {
  return `KUBE-SEP-${chainHash(port.title, port.protocol, hostPort(endpoint))}`;
}

/** The same sixteen letters as kube-proxy's. */
function chainHash(...parts: readonly string[]): string {
  return base32(createHash('sha256').update(parts.join('')).digest()).slice(0, 16);
}

/** RFC 4648, without padding. */
export function base32(bytes: Uint8Array): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => letters[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

export function hostPort({ ip, port }: { readonly ip: string; readonly port: number }): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

function ofPods(local: LocalTraffic, { family }: ServicePort): string {
  return local.by === 'clusterCidr' ? `-s ${local.cidrs[family]}` : `-i ${local.prefix}+`;
}

export function ofOthers(local: LocalTraffic, port: ServicePort): string {
  return `! ${ofPods(local, port)}`;
}

function refusal(port: ServicePort, why: string, what: string): string {
  return `-A KUBE-EXTERNAL-SERVICES ${said(`${port.title} ${why}`)} ${what} -j`;
}

export function to(port: ServicePort, ip: string): string {
  return `${match(port)} -d ${ip} --dport ${port.port}`;
}

export function match({ protocol }: ServicePort): string {
  return `-m ${protocol} -p ${protocol}`;
}

/** kube-proxy quotes what has a blank. */
export function said(text: string): string {
  return `-m comment --comment ${text.includes(' ') ? `"${text}"` : text}`;
}
