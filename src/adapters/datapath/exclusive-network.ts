import { closeSync, openSync } from 'node:fs';
import type { Sandbox } from '../../core/sandbox.ts';
import type { Libc } from '../netlink/libc.ts';
import type { Link } from '../netlink/link.ts';
import { Netlink } from '../netlink/netlink.ts';
import { deleteLink, setLink } from '../netlink/wire/link.ts';
import type { Request } from '../netlink/wire/message.ts';
import type { ExclusivePlan } from './exclusive-plan.ts';
import { findHostVeth } from './host-veth.ts';
import type { PodNamespace } from './pod-namespace.ts';
import type { Attached } from './pod-network.ts';
import { sandboxDevice } from './sandbox-device.ts';
import { makeServicePair, missingOfPair, missingOnEni, mustBeCurrent, putOnEni, readyForEni } from './service-pair.ts';
import { firstMissingOfTerwayPair, terwayHostEnd } from './verify-terway-pod.ts';

/** Makes, removes and verifies what the network of a pod with an ENI of its own consists of (exclusive-plan.ts). Synchronous throughout. */
export class ExclusiveNetwork {
  readonly #libc: Libc;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** Makes everything or nothing: on an error the device is the host's again and what was made is removed. Throws NetlinkError or EnactorError. */
  attach(plan: ExclusivePlan, namespace: PodNamespace): Attached {
    const host = new Netlink(this.#libc);
    const { ifName } = plan.sandbox;
    try {
      const eni = readyForEni(plan, host, namespace);
      try {
        host.apply([setLink(eni.index, { up: false }), setLink(eni.index, { netnsFd: namespace.fd, name: ifName })]);
        putOnEni(this.#libc, plan, namespace);
        const hostName = makeServicePair(this.#libc, host, plan, namespace);
        mustBeCurrent(namespace);
        return { hostName, hostMac: plan.device.hostMac, podMac: plan.eniMac };
      } catch (error) {
        // The first cause is what the caller has to see, not what the undo met.
        try {
          this.#giveDeviceBack(host, namespace, ifName, eni.name);
        } catch {}
        const left = findHostVeth(host, plan.device);
        if (left !== null) host.execute([deleteLink(left)]);
        throw error;
      }
    } finally {
      host.close();
    }
  }

  /**
   * The device goes back to the host, under its name there if that is free; the pair goes with whatever leads to it. `eniMac` is null when nobody
   * can tell it: then a physical device of the interface's name is taken for it. Nothing there is success.
   */
  detach(sandbox: Sandbox, namespace: PodNamespace, eniMac: string | null): void {
    const link = namespace.netlink.linkByName(sandbox.ifName);
    if (link === null || link.mac === sandboxDevice(sandbox).podMac || CHILDREN.includes(link.kind)) return;
    if (eniMac === null ? link.kind !== null : link.mac !== eniMac.toLowerCase()) return;
    const host = new Netlink(this.#libc);
    try {
      this.#giveDeviceBack(host, namespace, sandbox.ifName, null);
    } finally {
      host.close();
    }
  }

  /** null when all is there, else the first object that is missing, in words. Changes nothing. */
  verify(plan: ExclusivePlan, namespace: PodNamespace): string | null {
    const host = new Netlink(this.#libc);
    try {
      const { ifName } = plan.sandbox;
      const eni = namespace.netlink.linkByName(ifName);
      if (eni?.mac !== plan.eniMac.toLowerCase()) return `the device of ENI ${plan.eniMac} as ${ifName} in the pod`;
      const missing = missingOnEni(plan, namespace.netlink, eni);
      if (missing !== null) return missing;
      const terways = terwayHostEnd(plan, host);
      return terways === null
        ? missingOfPair(plan, host, namespace.netlink)
        : firstMissingOfTerwayPair(plan.ips, terways, host);
    } finally {
      host.close();
    }
  }

  #giveDeviceBack(host: Netlink, { netlink: pod }: PodNamespace, ifName: string, wantedName: string | null): void {
    const link = pod.linkByName(ifName);
    if (link === null) return;
    const fd = openSync('/proc/thread-self/ns/net', 'r');
    try {
      const name = [wantedName ?? '', nameOf(link)].find((each) => each !== '' && host.linkByName(each) === null);
      const back: Request[] = [
        setLink(link.index, { up: false }),
        setLink(link.index, { netnsFd: fd, name: name ?? `${nameOf(link)}x` }),
      ];
      pod.apply(back);
    } finally {
      closeSync(fd);
    }
  }
}

/** What hangs on a device has its MAC too. */
const CHILDREN: readonly (string | null)[] = ['ipvlan', 'macvlan', 'vlan'];

/** A name that says which ENI it is, for a device whose own name is not known any more. */
function nameOf({ mac }: Link): string {
  return `eni${(mac ?? '').replaceAll(':', '').slice(-8)}`;
}
