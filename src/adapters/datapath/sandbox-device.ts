/**
 * How a sandbox's devices are named and recognised.
 *
 * The host end's name comes from the pod, as Terway and Calico compute it, so that tools which know pods find it. Two
 * sandboxes can share that name: an old and a new one of the same pod, or pod `web` with interface `net1` and pod `webnet1`.
 * So the name alone never says whose device it is: the MAC addresses are made from the sandbox (container id and interface
 * name) and are given with the creation itself, so there is no moment in which a device has a name and no owner. A late DEL
 * finds a device of its name with another MAC and leaves it alone; an ADD that finds its name taken uses the name made from
 * its own sandbox, and both pods keep their network.
 * Source: cases/bugs B22; Terway's host veth name (SHA-1 of `<namespace>.<pod><interface, eth0 as nothing>`).
 */
import { HOST_VETH_DIGITS, HOST_VETH_PREFIX, hostVethName } from '../../core/host-veth-name.ts';
import { type Sandbox, sandboxKey } from '../../core/sandbox.ts';
import { sha1Hex } from '../../core/sha1.ts';

export const ALIAS_MARK = 'enactor:';
/**
 * The group of a host end whose pod is on the network itself (an ENI's device, or an ipvlan slave of one): only some of its traffic passes here, so that no
 * rule leads it, and what is rewritten on its way has to bear the node's address (node-filter.ts). Said with the device, so that it holds as long.
 */
export const DIRECT_GROUP = 0x656e;

type Names = Pick<Sandbox, 'containerId' | 'ifName'>;

export type SandboxDevice = {
  /** Names the host end may have, the one to try first at the front. */
  readonly hostNames: readonly [byPod: string, bySandbox: string];
  /** The mark of ownership. */
  readonly hostMac: string;
  readonly podMac: string;
  /** For people (`ip link` shows it), and for finding what dead sandboxes left: it is believed only with the MAC that goes with it. */
  readonly alias: string;
};

export function sandboxDevice(sandbox: Names & Pick<Sandbox, 'pod'>): SandboxDevice {
  const { namespace, name } = sandbox.pod;
  const digest = sha1Hex(sandboxKey(sandbox)); // 40 digits: 12 for each MAC, 11 for a name
  return {
    hostNames: [hostVethName({ namespace, name }, sandbox.ifName), HOST_VETH_PREFIX + digest.slice(-HOST_VETH_DIGITS)],
    hostMac: macOf(digest.slice(0, 12)),
    podMac: macOf(digest.slice(12, 24)),
    alias: `${ALIAS_MARK}${namespace}/${name} ${sandbox.ifName} ${sandbox.containerId}`,
  };
}

/** Locally administered, unicast; 46 bits of the digest. */
function macOf(digits: string): string {
  const first = (Number.parseInt(digits.slice(0, 2), 16) & 0xfc) | 0x02;
  const bytes = [first.toString(16).padStart(2, '0')];
  for (let at = 2; at < digits.length; at += 2) bytes.push(digits.slice(at, at + 2));
  return bytes.join(':');
}
