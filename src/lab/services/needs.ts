/** What a lab with services needs of the distribution besides what every lab needs. */
import { existsSync } from 'node:fs';
import { DISTRIBUTION_PLUGINS } from '../kubelet/cni-runtime.ts';
import { hasProgram } from '../view/has-program.ts';
import type { ProxyForm } from './kube-proxy.ts';

/** program or file -> Debian's package. */
const programs = { 'iptables-restore': 'iptables', nft: 'nftables' } as const;
const PORTMAP = `${DISTRIBUTION_PLUGINS}/portmap`;

/** Null when all is there, else the sentence that says what is missing. */
export function missingForServices(forms: readonly ProxyForm[] = []): string | null {
  const wanted = forms.includes('ipvs') ? { ...programs, ipvsadm: 'ipvsadm' } : programs;
  const missing = Object.entries(wanted).flatMap(([name, from]) => (hasProgram(name) ? [] : [`${name} (${from})`]));
  if (!existsSync(PORTMAP)) missing.push(`${PORTMAP} (containernetworking-plugins)`);
  return missing.length === 0 ? null : `services need what is not here: ${missing.join(', ')}`;
}
