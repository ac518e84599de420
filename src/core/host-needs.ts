/**
 * What a host has to have, and what it goes without where it has less. Pure.
 *
 * Numbers are of kernels as kernel.org makes them; a distribution may have put later parts into an earlier number. So a number alone refuses only what is
 * below everything that is known to work; what nf_tables takes is asked of the kernel itself (filter-table.ts).
 * Source: Node 20, BUILDING.md (kernel 4.18, glibc 2.28); nf_tables: `nat` and `route` in family `inet` since 5.2, the incoming device in postrouting since 5.7.
 */
import type { DaemonMode } from './daemon-mode.ts';

export type HostFacts = {
  /** As uname has it, `5.10.134-16.al8.x86_64`. */
  readonly kernel: string;
  /** As Node names it: `x64`, `arm64`. */
  readonly arch: string;
  /** Of this process, `2.36`; null where the C library is another. */
  readonly glibc: string | null;
};

/** A kind of chain that the kernel does not take in family `inet`. */
export type LackingChain = 'filter' | 'nat' | 'route';

export type HostWants = {
  readonly daemonMode: DaemonMode;
  readonly ipvlan: boolean;
  readonly replyPaths: boolean;
};

export type HostFinding = {
  /** `refused`: the daemon does not start. `lacking`: it works without that. */
  readonly is: 'refused' | 'lacking';
  readonly says: string;
};

export const KERNEL_FLOOR = '4.18';
/** Services of pods whose traffic does not pass the host by a pair alone. */
export const DIRECT_FLOOR = '5.7';
export const ARCHITECTURES: readonly string[] = ['x64', 'arm64'];

/** Empty where nothing is amiss. `lacks`: null while the kernel has not been asked. */
export function hostFindings(
  { kernel, arch, glibc }: HostFacts,
  { daemonMode, ipvlan, replyPaths }: HostWants,
  lacks: readonly LackingChain[] | null,
): readonly HostFinding[] {
  const found: HostFinding[] = [];
  const note = (is: HostFinding['is'], says: string): void => void found.push({ is, says });
  if (!ARCHITECTURES.includes(arch)) note('refused', `the machine is ${arch}: only x86-64 and arm64 are built`);
  if (isBelow(kernel, KERNEL_FLOOR)) note('refused', `the kernel is ${kernel}: ${KERNEL_FLOOR} or later is needed`);
  if (glibc === null) note('refused', 'the C library is not glibc (Alpine has musl): take an image with glibc');
  const direct = daemonMode === 'ENIOnly' || (ipvlan && daemonMode === 'ENIMultiIP');
  if (direct && isBelow(kernel, DIRECT_FLOOR))
    note(
      'lacking',
      `the kernel is ${kernel}: below ${DIRECT_FLOOR} pods with ${ipvlan ? 'ipvlan' : 'an ENI each'} reach no services`,
    );
  if (lacks?.includes('filter') === true) {
    const lost = withoutFilter(daemonMode, direct, replyPaths);
    if (lost.length > 0) note('lacking', `the kernel has no nf_tables: ${lost.join('; ')}`);
    return found;
  }
  if (lacks?.includes('nat') === true && (direct || daemonMode === 'VPC'))
    note('lacking', `the kernel takes no nat in family inet (5.2 does): ${withoutNat(daemonMode)}`);
  if (lacks?.includes('route') === true && replyPaths)
    note(
      'lacking',
      'the kernel takes no route chains in family inet (5.2 does): where kube-proxy in IPVS mode tracks no connections, it loses what pods send',
    );
  return found;
}

function withoutFilter(daemonMode: DaemonMode, direct: boolean, replyPaths: boolean): readonly string[] {
  return [
    ...(replyPaths ? ['requests that come in by the node for pods on secondary ENIs are not answered'] : []),
    ...(direct || daemonMode === 'VPC' ? [withoutNat(daemonMode)] : []),
  ];
}

const withoutNat = (daemonMode: DaemonMode): string =>
  daemonMode === 'VPC' ? 'pods are not masqueraded outside of pod_range' : 'pods reach no services';

/** Whether a version is below another, by the numbers that both name; one that names none is below nothing. */
export function isBelow(version: string, floor: string): boolean {
  const [numbers, wanted] = [numbersOf(version), numbersOf(floor)];
  for (const [at, want] of wanted.entries()) {
    const have = numbers[at];
    if (have === undefined || have > want) return false;
    if (have < want) return true;
  }
  return false;
}

const numbersOf = (version: string): readonly number[] =>
  (/^\d+(?:\.\d+)*/.exec(version)?.[0] ?? '')
    .split('.')
    .filter((part) => part !== '')
    .map(Number);
