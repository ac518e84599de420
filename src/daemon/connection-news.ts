/**
 * What the way in which this node connects its pods takes from them, said once a start, in the log and as events of the node: nobody would find out
 * otherwise than by a packet that passes. Source: Terway's event VirtualModeChanged; cases/field P21.
 */
import type { Config } from '../core/config.ts';
import type { Log } from '../ports/log.ts';
import type { Notices } from './notices.ts';

export type ConnectionNewsParts = {
  readonly config: Pick<Config, 'ipvlan' | 'daemonMode'>;
  readonly nodeName: string;
  /** Whether the kernel makes ipvlan devices; asked only where they are wanted. */
  readonly makesIpvlan: () => boolean;
  readonly notices: Pick<Notices, 'tell'>;
  readonly log: Log;
};

export function tellConnection({ config, nodeName, makesIpvlan, notices, log }: ConnectionNewsParts): void {
  const tell = (reason: string, message: string): void => {
    log.warn({ reason }, message);
    notices.tell({ target: { kind: 'node', name: nodeName, uid: null }, type: 'Warning', reason, message });
  };
  const past =
    'their traffic does not pass the host, so that network policies of an agent there (Felix) are not enforced on them';
  if (config.daemonMode === 'ENIOnly') tell('PolicyNotEnforced', `pods of this node have an ENI each: ${past}`);
  if (!config.ipvlan || config.daemonMode !== 'ENIMultiIP') return;
  if (makesIpvlan()) tell('PolicyNotEnforced', `pods of this node have ipvlan devices: ${past}`);
  else
    tell(
      'VirtualModeChanged',
      'eniip_virtual_type is IPVlan and the kernel makes no such devices: pods get veth pairs. Network policies that an agent enforces on ipvlan ' +
        'devices (eBPF) are no longer enforced; those of an agent that filters cali devices of the host (Felix) are',
    );
}
