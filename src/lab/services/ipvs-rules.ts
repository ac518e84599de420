/**
 * What kube-proxy in IPVS mode makes of services: addresses on a dummy device, virtual servers as text for `ipvsadm --restore`, and rules that mark what has
 * to be masqueraded, as text for `iptables-restore --noflush`.
 *
 * kube-proxy keeps addresses and ports in ipsets and has a rule a set; here each entry is a rule of its own, in the order of the sets, so that no `ipset` is
 * needed. A service with policy Local and no backend on the node is sent to all backends, unmasqueraded: for pods that is a way, and what comes from
 * elsewhere, or from the node itself (whose source is then the service's address), is lost at the first router. Not in it: source ranges, health check
 * ports, `physdev` in the rules of external IPs.
 * Source: kubernetes/kubernetes pkg/proxy/ipvs/proxier.go (syncProxyRules, writeIptablesRules, syncEndpoint), 1.28 to 1.31.
 */
import type { Family } from '../../core/ip.ts';
import { hostPort, type Jump, jump, MASQUERADE_MARK, match, ofOthers, said, to } from './iptables-rules.ts';
import type { ProxyNode } from './local-traffic.ts';
import type { Endpoint, ServicePort } from './service-port.ts';

/** Never brought up: that the addresses are the host's own is all that it is for. */
export const IPVS_DEVICE = 'kube-ipvs0';

/** Of one family, for the dummy; each once. */
export function ipvsAddresses(ports: readonly ServicePort[]): readonly string[] {
  return [...new Set(ports.flatMap((port) => [port.clusterIp, ...port.externalIps, ...port.loadBalancerIps]))];
}

/** Lines of `ipvsadm --restore`. */
export function ipvsServers(ports: readonly ServicePort[], node: ProxyNode): string {
  const lines = ports.flatMap((port) => {
    const external = port.local ? nearest(port, node) : port.endpoints;
    const atNode = node.ips.filter((ip) => ip.includes(':') === (port.family === 6));
    return [
      ...server(port, port.clusterIp, port.port, port.endpoints),
      ...[...port.externalIps, ...port.loadBalancerIps].flatMap((ip) => server(port, ip, port.port, external)),
      ...(port.nodePort === null ? [] : atNode.flatMap((ip) => server(port, ip, port.nodePort ?? 0, external))),
    ];
  });
  return lines.map((line) => `${line}\n`).join('');
}

function nearest({ endpoints }: ServicePort, node: ProxyNode): readonly Endpoint[] {
  const here = endpoints.filter(({ nodeName }) => nodeName === node.name);
  return here.length > 0 ? here : endpoints;
}

function server(port: ServicePort, ip: string, number: number, endpoints: readonly Endpoint[]): string[] {
  const which = `${port.protocol === 'udp' ? '-u' : '-t'} ${hostPort({ ip, port: number })}`;
  const mask = port.family === 6 ? ' -M 128' : '';
  const sticky = port.affinityS === null ? '' : ` -p ${port.affinityS}${mask}`;
  return [`-A ${which} -s rr${sticky}`, ...endpoints.map((one) => `-a ${which} -r ${hostPort(one)} -m -w 1`)];
}

/** Of iptables-save's form, without the jumps from the built-in chains (IPVS_JUMPS). */
export function ipvsRules(ports: readonly ServicePort[], node: ProxyNode, family: Family): string {
  const all = (rule: (port: ServicePort) => readonly string[]) => ports.flatMap(rule);
  const visible = (port: ServicePort) => [port.clusterIp, ...port.externalIps, ...port.loadBalancerIps];
  const local = '-m addrtype --dst-type LOCAL';
  return [
    '*filter',
    ...FILTER_CHAINS.map((name) => `:${name} - [0:0]`),
    `-A KUBE-FORWARD ${said('kubernetes forwarding rules')} -m mark --mark ${MASQUERADE_MARK}/${MASQUERADE_MARK} -j ACCEPT`,
    `-A KUBE-FORWARD ${said('kubernetes forwarding conntrack rule')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
    ...all((port) => visible(port).map((ip) => `-A KUBE-IPVS-FILTER ${to(port, ip)} -j RETURN`)),
    ...ipvsAddresses(ports).map((ip) => `-A KUBE-IPVS-FILTER -m conntrack --ctstate NEW -d ${ip} -j REJECT`),
    'COMMIT',
    '*nat',
    ...NAT_CHAINS.map((name) => `:${name} - [0:0]`),
    `-A KUBE-SERVICES -s ${family === 4 ? '127.0.0.0/8' : '::1/128'} -j RETURN`,
    ...all((port) => port.loadBalancerIps.map((ip) => `-A KUBE-SERVICES ${to(port, ip)} -j KUBE-LOAD-BALANCER`)),
    ...all((port) => [`-A KUBE-SERVICES ${to(port, port.clusterIp)} ${ofOthers(node.local, port)} -j KUBE-MARK-MASQ`]),
    ...all((port) =>
      port.local ? [] : port.externalIps.map((ip) => `-A KUBE-SERVICES ${to(port, ip)} -j KUBE-MARK-MASQ`),
    ),
    ...all((port) => port.externalIps.flatMap((ip) => accepted(port, ip))),
    `-A KUBE-SERVICES ${local} -j KUBE-NODE-PORT`,
    ...all((port) =>
      [port.clusterIp, ...port.loadBalancerIps].map((ip) => `-A KUBE-SERVICES ${to(port, ip)} -j ACCEPT`),
    ),
    ...all((port) =>
      port.local ? port.loadBalancerIps.map((ip) => `-A KUBE-LOAD-BALANCER ${to(port, ip)} -j RETURN`) : [],
    ),
    '-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ',
    ...all((port) =>
      port.nodePort === null
        ? []
        : [`-A KUBE-NODE-PORT ${match(port)} --dport ${port.nodePort} -j ${port.local ? 'RETURN' : 'KUBE-MARK-MASQ'}`],
    ),
    `-A KUBE-MARK-MASQ -j MARK --or-mark ${MASQUERADE_MARK}`,
    ...all((port) =>
      port.endpoints
        .filter(({ nodeName }) => nodeName === node.name)
        .map((one) => `-A KUBE-POSTROUTING -s ${one.ip} ${match(port)} -d ${one.ip} --dport ${one.port} -j MASQUERADE`),
    ),
    `-A KUBE-POSTROUTING -m mark ! --mark ${MASQUERADE_MARK}/${MASQUERADE_MARK} -j RETURN`,
    `-A KUBE-POSTROUTING -j MARK --xor-mark ${MASQUERADE_MARK}`,
    `-A KUBE-POSTROUTING ${said('kubernetes service traffic requiring SNAT')} -j MASQUERADE --random-fully`,
    'COMMIT',
    '',
  ].join('\n');
}

function accepted(port: ServicePort, ip: string): string[] {
  return ['! --src-type LOCAL', '--dst-type LOCAL'].map(
    (which) => `-A KUBE-SERVICES ${to(port, ip)} -m addrtype ${which} -j ACCEPT`,
  );
}

export const IPVS_JUMPS: readonly Jump[] = [
  jump('filter', 'FORWARD', 'KUBE-FORWARD', 'kubernetes forwarding rules', false),
  jump('filter', 'INPUT', 'KUBE-IPVS-FILTER', 'kubernetes ipvs access filter', false),
  jump('nat', 'OUTPUT', 'KUBE-SERVICES', 'kubernetes service portals', false),
  jump('nat', 'PREROUTING', 'KUBE-SERVICES', 'kubernetes service portals', false),
  jump('nat', 'POSTROUTING', 'KUBE-POSTROUTING', 'kubernetes postrouting rules', false),
];

const FILTER_CHAINS = ['KUBE-FORWARD', 'KUBE-IPVS-FILTER'];
const NAT_CHAINS = ['KUBE-LOAD-BALANCER', 'KUBE-MARK-MASQ', 'KUBE-NODE-PORT', 'KUBE-POSTROUTING', 'KUBE-SERVICES'];
