/**
 * Whether this host has pods whose traffic does not pass it, so that no agent on it can enforce network policies on them: those with an ENI of their own,
 * or an ipvlan slave of one. Source: sandbox-device.ts, the group of their host ends.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { DIRECT_GROUP } from '../../adapters/datapath/sandbox-device.ts';
import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import { type CheckResult, warning } from './check.ts';

const DEVICES = '/sys/class/net';

/** Names of the host ends of such pods. */
export function directPods(directory = DEVICES): readonly string[] {
  const names = readdirSync(directory).filter((name) => name.startsWith(HOST_VETH_PREFIX));
  return names.filter((name) => {
    try {
      return Number(readFileSync(`${directory}/${name}/netdev_group`, 'utf8')) === DIRECT_GROUP;
    } catch {
      return false; // gone meanwhile
    }
  });
}

/** Empty where every pod's traffic passes the host. */
export function policyResults(direct: readonly string[]): readonly CheckResult[] {
  if (direct.length === 0) return [];
  return [
    {
      check: 'network policy',
      ...warning(
        `is not enforced on ${direct.length} pods whose traffic does not pass this host (host ends ${direct.slice(0, 3).join(', ')}${direct.length > 3 ? ', …' : ''})`,
        'put pods that policies are about on nodes with eniip_virtual_type Veth, or use security groups',
      ),
    },
  ];
}
