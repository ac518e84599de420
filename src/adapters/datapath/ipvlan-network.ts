import { EnactorError } from '../../core/errors.ts';
import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Libc } from '../netlink/libc.ts';
import { Netlink } from '../netlink/netlink.ts';
import { NetlinkError } from '../netlink/netlink-error.ts';
import { createIpvlan, deleteLink, setLink } from '../netlink/wire/link.ts';
import { type ExclusivePlan, SERVICE_IF_NAME } from './exclusive-plan.ts';
import { findHostVeth, GONE } from './host-veth.ts';
import type { PodNamespace } from './pod-namespace.ts';
import type { Attached } from './pod-network.ts';
import { sandboxDevice } from './sandbox-device.ts';
import { makeServicePair, missingOfPair, missingOnEni, mustBeCurrent, putOnEni, readyForEni } from './service-pair.ts';

/** Of a slave's name before it has the pod's. */
const BEFORE_PREFIX = 'ipvl';

/** The kernel's word for a kind of device that it does not know. */
const UNKNOWN_KIND = 'EOPNOTSUPP';

/** This kernel makes no ipvlan devices: built without them, or the module is not there. */
export class NoIpvlanError extends EnactorError {
  constructor(cause: unknown) {
    super('device', 'the kernel makes no ipvlan devices', cause);
  }
}

/**
 * A pod with an ipvlan slave (L2) of a shared ENI as its interface, and the pair for what is the host's to do.
 *
 * The slave has the ENI's MAC and the vSwitch's prefix: pods of one ENI find each other through the slave itself, others answer, or the VPC for them. What
 * the pod sends meets neither the host's rules nor its filters. Upstream turns services to the host by `tc` on the ENI, where a second look-up
 * of the neighbour, one priority for each prefix and IPv4 alone are its limits; a route over the pair says the same for both families, as with
 * an ENI of one's own. Source: Terway's ipvlan L2; Documentation/networking/ipvlan.rst; cases/field F2.
 */
export class IpvlanNetwork {
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Makes everything or nothing. Throws NoIpvlanError before anything is made, NetlinkError or EnactorError. */
  attach(plan: ExclusivePlan, namespace: PodNamespace): Attached {
    const host = new Netlink(this.#libc);
    const { ifName } = plan.sandbox;
    try {
      const eni = readyForEni(plan, host, namespace);
      // The kernel looks for the name on the host first, where there mostly is an eth0: it is given in the pod.
      const name = BEFORE_PREFIX + plan.device.hostNames[1].slice(HOST_VETH_PREFIX.length);
      const [made] = host.execute([
        createIpvlan({ name, mtu: plan.mtu, masterIndex: eni.index, netnsFd: namespace.fd }),
      ]);
      if (made?.error) throw made.error.code === UNKNOWN_KIND ? new NoIpvlanError(made.error) : made.error;
      try {
        const slave = namespace.netlink.linkByName(name);
        if (slave === null) throw new EnactorError('device', `${name} vanished as it was made`);
        namespace.netlink.apply([setLink(slave.index, { name: ifName })]);
        putOnEni(this.#libc, plan, namespace);
        const hostName = makeServicePair(this.#libc, host, plan, namespace);
        mustBeCurrent(namespace);
        return { hostName, hostMac: plan.device.hostMac, podMac: plan.eniMac };
      } catch (error) {
        // The first cause is what the caller has to see, not what the undo met.
        for (const each of [name, ifName]) {
          const slave = namespace.netlink.linkByName(each);
          if (slave?.kind === 'ipvlan') namespace.netlink.execute([deleteLink(slave)]);
        }
        const left = findHostVeth(host, plan.device);
        if (left !== null) host.execute([deleteLink(left)]);
        throw error;
      }
    } finally {
      host.close();
    }
  }

  /** The slave goes; one beside a pair that is another's stays. Nothing there is success. Throws NetlinkError. */
  detach(sandbox: Sandbox, { netlink: pod }: PodNamespace): void {
    const slave = pod.linkByName(sandbox.ifName);
    if (slave?.kind !== 'ipvlan') return;
    const end = pod.linkByName(SERVICE_IF_NAME);
    if (end !== null && end.mac !== sandboxDevice(sandbox).podMac) return;
    pod.apply([deleteLink(slave)], GONE);
  }

  /** null when all is there, else the first object that is missing, in words. Changes nothing. */
  verify(plan: ExclusivePlan, namespace: PodNamespace): string | null {
    const host = new Netlink(this.#libc);
    try {
      const { ifName } = plan.sandbox;
      const slave = namespace.netlink.linkByName(ifName);
      if (slave?.kind !== 'ipvlan' || slave.mac !== plan.eniMac.toLowerCase())
        return `an ipvlan slave of ENI ${plan.eniMac} as ${ifName} in the pod`;
      return missingOnEni(plan, namespace.netlink, slave) ?? missingOfPair(plan, host, namespace.netlink);
    } finally {
      host.close();
    }
  }
}

/** Whether this kernel makes ipvlan devices, tried with a master that cannot be one: it says which of the two it misses. */
export function makesIpvlan(libc: Libc): boolean {
  const host = new Netlink(libc);
  try {
    const [made] = host.execute([
      createIpvlan({ name: 'enactor-probe', mtu: 1500, masterIndex: 0x7fffffff, netnsFd: null }),
    ]);
    return !(made?.error instanceof NetlinkError && made.error.code === UNKNOWN_KIND);
  } finally {
    host.close();
  }
}
