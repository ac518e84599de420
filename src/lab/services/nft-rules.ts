/**
 * kube-proxy's rules in its nftables form, as text for `nft -f`: one table `kube-proxy` a family, with maps from destination to chain.
 *
 * Written after its real output of Kubernetes 1.31. Not in it: source ranges of load balancers, topology; the whole table is written anew
 * each time, where kube-proxy changes it.
 * Source: kubernetes/kubernetes pkg/proxy/nftables/proxier.go and the output its TestOverallNFTablesRules expects.
 */
import { createHash } from 'node:crypto';
import { base32 } from './iptables-rules.ts';
import type { LocalTraffic, ProxyNode } from './local-traffic.ts';
import type { Endpoint, ServicePort } from './service-port.ts';

const MASQUERADE_MARK = '0x4000';

export const NFT_TABLE = 'kube-proxy';

export function nftRules(ports: readonly ServicePort[], node: ProxyNode, family: 4 | 6): string {
  const table = `${family === 4 ? 'ip' : 'ip6'} ${NFT_TABLE}`;
  const nodeIps = node.ips.filter((ip) => ip.includes(':') === (family === 6));
  return [
    `add table ${table}`,
    `delete table ${table}`,
    `add table ${table} { comment "rules for kube-proxy" ; }`,
    ...base(table, family === 4 ? 'ip' : 'ip6', node.serviceCidrs[family]),
    ...nodeIps.map((ip) => `add element ${table} nodeport-ips { ${ip} }`),
    // Chains before the rules that go to them.
    ...ports.flatMap((port) => serviceChains(table, port)),
    ...ports.flatMap((port) => serviceRules(table, port, node)),
    '',
  ].join('\n');
}

function base(table: string, ip: 'ip' | 'ip6', serviceCidr: string): string[] {
  const addr = ip === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const chain = (name: string, hook = '') => `add chain ${table} ${name}${hook === '' ? '' : ` { ${hook} ; }`}`;
  const rule = (name: string, text: string) => `add rule ${table} ${name} ${text}`;
  return [
    `add set ${table} cluster-ips { type ${addr} ; comment "Active ClusterIPs" ; }`,
    `add set ${table} nodeport-ips { type ${addr} ; comment "IPs that accept NodePort traffic" ; }`,
    `add map ${table} no-endpoint-nodeports { type inet_proto . inet_service : verdict ; comment "vmap to drop or reject packets to service nodeports with no endpoints" ; }`,
    `add map ${table} no-endpoint-services { type ${addr} . inet_proto . inet_service : verdict ; comment "vmap to drop or reject packets to services with no endpoints" ; }`,
    `add map ${table} service-ips { type ${addr} . inet_proto . inet_service : verdict ; comment "ClusterIP, ExternalIP and LoadBalancer IP traffic" ; }`,
    `add map ${table} service-nodeports { type inet_proto . inet_service : verdict ; comment "NodePort traffic" ; }`,
    chain('cluster-ips-check'),
    chain('filter-forward', 'type filter hook forward priority 0'),
    chain('filter-input', 'type filter hook input priority 0'),
    chain('filter-output', 'type filter hook output priority 0'),
    chain('mark-for-masquerade'),
    chain('masquerading'),
    chain('nat-output', 'type nat hook output priority -100'),
    chain('nat-postrouting', 'type nat hook postrouting priority 100'),
    chain('nat-prerouting', 'type nat hook prerouting priority -100'),
    chain('nodeport-endpoints-check'),
    chain('reject-chain'),
    chain('services'),
    chain('service-endpoints-check'),
    rule(
      'cluster-ips-check',
      `${ip} daddr @cluster-ips reject comment "Reject traffic to invalid ports of ClusterIPs"`,
    ),
    rule('cluster-ips-check', `${ip} daddr { ${serviceCidr} } drop comment "Drop traffic to unallocated ClusterIPs"`),
    rule('filter-forward', 'ct state new jump service-endpoints-check'),
    rule('filter-forward', 'ct state new jump cluster-ips-check'),
    rule('filter-input', 'ct state new jump nodeport-endpoints-check'),
    rule('filter-input', 'ct state new jump service-endpoints-check'),
    rule('filter-output', 'ct state new jump service-endpoints-check'),
    rule('filter-output', 'ct state new jump cluster-ips-check'),
    rule('mark-for-masquerade', `mark set mark or ${MASQUERADE_MARK}`),
    rule('masquerading', `mark and ${MASQUERADE_MARK} == 0 return`),
    rule('masquerading', `mark set mark xor ${MASQUERADE_MARK}`),
    rule('masquerading', 'masquerade fully-random'),
    rule('nat-output', 'jump services'),
    rule('nat-postrouting', 'jump masquerading'),
    rule('nat-prerouting', 'jump services'),
    rule('nodeport-endpoints-check', `${ip} daddr @nodeport-ips meta l4proto . th dport vmap @no-endpoint-nodeports`),
    rule('reject-chain', 'reject'),
    rule('services', `${ip} daddr . meta l4proto . th dport vmap @service-ips`),
    rule('services', `${ip} daddr @nodeport-ips meta l4proto . th dport vmap @service-nodeports`),
    rule('service-endpoints-check', `${ip} daddr . meta l4proto . th dport vmap @no-endpoint-services`),
  ];
}

function serviceChains(table: string, port: ServicePort): string[] {
  const { service, external, locally } = chainsOf(port);
  const endpoints = port.endpoints.map((endpoint) => endpointChain(port, endpoint));
  const all = [service, ...(seen(port) ? [external, ...(port.local ? [locally] : [])] : []), ...endpoints];
  return [
    ...all.map((name) => `add chain ${table} ${name}`),
    ...(port.affinityS === null ? [] : port.endpoints.map((endpoint) => affinitySet(table, port, endpoint))),
  ];
}

function serviceRules(table: string, port: ServicePort, node: ProxyNode): string[] {
  const { service, external, locally } = chainsOf(port);
  const ip = port.family === 4 ? 'ip' : 'ip6';
  const rule = (name: string, text: string) => `add rule ${table} ${name} ${text}`;
  const element = (map: string, text: string) => `add element ${table} ${map} { ${text} }`;
  const locals = port.endpoints.filter(({ nodeName }) => nodeName === node.name);
  const outside = [...port.externalIps, ...port.loadBalancerIps];
  const at = (address: string) => `${address} . ${port.protocol} . ${port.port}`;
  const lines = [element('cluster-ips', port.clusterIp)];
  const nothing = port.endpoints.length === 0 ? 'goto reject-chain' : port.local && locals.length === 0 ? 'drop' : null;
  if (nothing !== null) {
    const remark = `comment "${port.title}"`;
    if (port.endpoints.length === 0)
      lines.push(element('no-endpoint-services', `${at(port.clusterIp)} ${remark} : ${nothing}`));
    lines.push(...outside.map((one) => element('no-endpoint-services', `${at(one)} ${remark} : ${nothing}`)));
    if (port.nodePort !== null)
      lines.push(element('no-endpoint-nodeports', `${port.protocol} . ${port.nodePort} ${remark} : ${nothing}`));
  }
  if (port.endpoints.length === 0) return lines;
  lines.push(
    rule(service, `${ip} daddr ${port.clusterIp} ${ofOthers(node.local, port)} jump mark-for-masquerade`),
    ...spread(table, service, port, port.endpoints),
    element('service-ips', `${at(port.clusterIp)} : goto ${service}`),
  );
  if (seen(port)) {
    if (port.local) {
      lines.push(
        rule(external, `${ofPods(node.local, port)} goto ${service} comment "short-circuit pod traffic"`),
        rule(external, 'fib saddr type local jump mark-for-masquerade comment "masquerade local traffic"'),
        rule(external, `fib saddr type local goto ${service} comment "short-circuit local traffic"`),
      );
      if (locals.length > 0) lines.push(rule(external, `goto ${locally}`), ...spread(table, locally, port, locals));
    } else {
      lines.push(rule(external, 'jump mark-for-masquerade'), rule(external, `goto ${service}`));
    }
    lines.push(...outside.map((one) => element('service-ips', `${at(one)} : goto ${external}`)));
    if (port.nodePort !== null)
      lines.push(element('service-nodeports', `${port.protocol} . ${port.nodePort} : goto ${external}`));
  }
  for (const endpoint of port.endpoints) {
    const chain = endpointChain(port, endpoint);
    lines.push(rule(chain, `${ip} saddr ${endpoint.ip} jump mark-for-masquerade`));
    if (port.affinityS !== null) lines.push(rule(chain, `update @${affinityName(port, endpoint)} { ${ip} saddr }`));
    lines.push(rule(chain, `meta l4proto ${port.protocol} dnat to ${nftHostPort(endpoint)}`));
  }
  return lines;
}

function spread(table: string, chain: string, port: ServicePort, endpoints: readonly Endpoint[]): string[] {
  const ip = port.family === 4 ? 'ip' : 'ip6';
  const again = endpoints.map(
    (endpoint) =>
      `add rule ${table} ${chain} ${ip} saddr @${affinityName(port, endpoint)} goto ${endpointChain(port, endpoint)}`,
  );
  const choices = endpoints.map((endpoint, index) => `${index} : goto ${endpointChain(port, endpoint)}`).join(' , ');
  return [
    ...(port.affinityS === null ? [] : again),
    `add rule ${table} ${chain} numgen random mod ${endpoints.length} vmap { ${choices} }`,
  ];
}

function affinitySet(table: string, port: ServicePort, endpoint: Endpoint): string {
  const addr = port.family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  return `add set ${table} ${affinityName(port, endpoint)} { type ${addr} ; flags dynamic,timeout ; timeout ${port.affinityS}s ; }`;
}

function seen(port: ServicePort): boolean {
  return port.nodePort !== null || port.externalIps.length + port.loadBalancerIps.length > 0;
}

function chainsOf(port: ServicePort) {
  const hashed = hashName(baseName(port));
  return { service: `service-${hashed}`, external: `external-${hashed}`, locally: `local-${hashed}` };
}

function baseName({ namespace, name, protocol, portName }: ServicePort): string {
  return `${namespace}/${name}/${protocol}/${portName}`;
}

function endpointChain(port: ServicePort, endpoint: Endpoint): string {
  return `endpoint-${endpointName(port, endpoint)}`;
}

function affinityName(port: ServicePort, endpoint: Endpoint): string {
  return `affinity-${endpointName(port, endpoint)}`;
}

function endpointName(port: ServicePort, { ip, port: number }: Endpoint): string {
  return hashName(`${baseName(port)}__${ip}/${number}`);
}

/** Names may not hold colons. */
function hashName(name: string): string {
  const hash = base32(createHash('sha256').update(name).digest()).slice(0, 8);
  return `${hash}-${name.replaceAll(':', '.')}`;
}

function nftHostPort({ ip, port }: Endpoint): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

function ofPods(local: LocalTraffic, { family }: ServicePort): string {
  return local.by === 'clusterCidr'
    ? `${family === 4 ? 'ip' : 'ip6'} saddr ${local.cidrs[family]}`
    : `iifname "${local.prefix}*"`;
}

function ofOthers(local: LocalTraffic, { family }: ServicePort): string {
  return local.by === 'clusterCidr'
    ? `${family === 4 ? 'ip' : 'ip6'} saddr != ${local.cidrs[family]}`
    : `iifname != "${local.prefix}*"`;
}
