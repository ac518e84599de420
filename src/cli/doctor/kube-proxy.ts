/**
 * Whether kube-proxy takes the addresses of this node for pods' (cases/field P4): one whose cluster CIDR does not hold them masquerades pod to
 * service, and backends see the node.
 *
 * Its rules tell: all three forms name the range of pods where they mark what is from elsewhere. Source: kube-proxy's output, as in
 * src/lab/services; pkg/proxy/ipvs (`KUBE-CLUSTER-IP`).
 */
import { spawnSync } from 'node:child_process';
import { cidrContains, parseCidr } from '../../core/ip.ts';
import type { NodeReport } from '../../ports/introspection.ts';
import { type CheckResult, ok, warning } from './check.ts';

const PROGRAMS: readonly (readonly [string, ...string[]])[] = [
  ['iptables-save', '-t', 'nat'],
  ['ip6tables-save', '-t', 'nat'],
  ['nft', 'list', 'table', 'ip', 'kube-proxy'],
  ['nft', 'list', 'table', 'ip6', 'kube-proxy'],
];
const TIMEOUT_MS = 10_000;
const OUTPUT_MAX_BYTES = 256 * 1024 * 1024;
/** `! -s RANGE … -j KUBE-MARK-MASQ`, `ip saddr != RANGE jump mark-for-masquerade`. */
const OTHERS = /(?:! -s|saddr !=) (\S+)[^\n]*(?:KUBE-MARK-MASQ|mark-for-masquerade)/g;
const ANY = /KUBE-SERVICES|mark-for-masquerade/;

/** All that the programs of this host print of kube-proxy's rules; '' where there are none, or no programs, or no right to. */
export function proxyRules(): string {
  return PROGRAMS.map(([program, ...args]) => {
    const ran = spawnSync(program, args, { encoding: 'utf8', timeout: TIMEOUT_MS, maxBuffer: OUTPUT_MAX_BYTES });
    return ran.status === 0 ? ran.stdout : '';
  }).join('\n');
}

/** Empty when the host has no kube-proxy, or none that can be seen. */
export function proxyResults({ enis }: Pick<NodeReport, 'enis'>, rules: string): readonly CheckResult[] {
  if (!ANY.test(rules)) return [];
  const check = 'kube-proxy';
  const ranges = [...new Set([...rules.matchAll(OTHERS)].map(([, range]) => range ?? ''))];
  const all = enis.flatMap(({ addresses }) =>
    addresses.flatMap(({ ipv4, ipv6 }) => (ipv6 === null ? [ipv4] : [ipv4, ipv6])),
  );
  const foreign = all.filter((ip) => isForeign(ip, ranges));
  if (foreign.length === 0)
    return [
      { check, ...ok(ranges.length === 0 ? 'names no range of pods' : `takes ${ranges.join(' and ')} for pods`) },
    ];
  return [
    {
      check,
      ...warning(
        `takes ${foreign.length} of ${all.length} addresses of this node for outsiders, such as ${foreign[0]}: its range of pods is ${ranges.join(' and ')}, so backends of services see the node in place of the pod`,
        'set its detectLocalMode to InterfaceNamePrefix with detectLocal.interfaceNamePrefix: cali, or its clusterCIDR to a range that holds the pods’ vSwitches',
      ),
    },
  ];
}

/** Of a family of which no range is named none is foreign. */
function isForeign(ip: string, ranges: readonly string[]): boolean {
  const own = ranges.map(parsed).filter((range) => range !== null && range.family === (ip.includes(':') ? 6 : 4));
  return own.length > 0 && !own.some((range) => range !== null && cidrContains(range, ip));
}

function parsed(text: string): ReturnType<typeof parseCidr> | null {
  try {
    return parseCidr(text);
  } catch {
    return null;
  }
}
