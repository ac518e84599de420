/**
 * Turns what happens in the cloud into what a machine sees: an attached ENI appears as a device with its MAC, a detached one
 * vanishes, and the router knows of every address as soon as the cloud has assigned it.
 *
 * Works synchronously inside the cloud model's events: when Attach has been carried out, the device is there.
 */
import { parseCidr, vSwitchGateway } from '../../core/ip.ts';
import type { AttachedEni, VpcEvent } from '../../vpc/events.ts';
import { PRIMARY_DEVICE } from '../guest/guest.ts';
import type { Netns } from '../netns/netns.ts';
import type { Router } from '../router/router.ts';

/** The prefixes of a vSwitch; null when it is not known. */
export type VSwitchLookup = (vSwitchId: string) => { readonly cidr: string; readonly ipv6Cidr: string | null } | null;

type Slot = { readonly instanceId: string; readonly device: string };
export type HypervisorEni = Pick<
  AttachedEni,
  'eniId' | 'mac' | 'instanceId' | 'primary' | 'vSwitchId' | 'ipv4' | 'ipv6' | 'securityGroupIds'
>;

export class Hypervisor {
  readonly #router: Router;
  readonly #vSwitch: VSwitchLookup;
  readonly #guests = new Map<string, Netns>();
  readonly #slots = new Map<string, Slot>();
  readonly #failures: Error[] = [];

  constructor(router: Router, vSwitch: VSwitchLookup) {
    this.#router = router;
    this.#vSwitch = vSwitch;
  }

  /** From now on the ENIs of this instance appear in `netns`; `present` are those it has already. */
  admit(instanceId: string, netns: Netns, present: readonly HypervisorEni[]): void {
    this.#guests.set(instanceId, netns);
    for (const eni of present) this.#plug(eni);
  }

  /** The machine starts anew: its ENIs come back in another order, so under other names; the primary one stays. */
  reboot(enis: readonly HypervisorEni[]): void {
    const secondary = enis.filter((eni) => !eni.primary);
    for (const { eniId } of secondary) {
      this.#slots.delete(eniId);
      this.#router.unplug(eniId);
    }
    for (const eni of secondary.toReversed()) this.#plug(eni);
  }

  /**
   * Plugs those in again whose device is gone. A real device that a pod had is the machine's again when the pod's namespace ends; a veth ends
   * with it.
   */
  restore(enis: readonly HypervisorEni[]): void {
    for (const eni of enis) {
      if (!this.#slots.has(eni.eniId) || this.#router.isPlugged(eni.eniId)) continue;
      this.#slots.delete(eni.eniId);
      this.#router.unplug(eni.eniId);
      this.#plug(eni);
    }
  }

  /** The device of an ENI in its machine, or null. */
  deviceOf(eniId: string): string | null {
    return this.#slots.get(eniId)?.device ?? null;
  }

  /** What could not be done; empty in a sound lab. A listener must not throw into the cloud. */
  get failures(): readonly Error[] {
    return this.#failures;
  }

  /** A listener for the cloud model. Events of instances that were not admitted are ignored. */
  readonly listen = (event: VpcEvent): void => {
    try {
      this.#follow(event);
    } catch (error) {
      this.#failures.push(error instanceof Error ? error : new Error(String(error)));
    }
  };

  #follow(event: VpcEvent): void {
    switch (event.type) {
      case 'attached':
        this.#plug(event);
        return;
      case 'detached':
        this.#slots.delete(event.eniId);
        this.#router.unplug(event.eniId);
        return;
      case 'addressAssigned':
        if (this.#slots.has(event.eniId)) this.#router.assign(event.eniId, event.ip);
        return;
      case 'addressReleased':
        this.#router.release(event.eniId, event.ip);
        return;
      case 'securityGroupsChanged':
        this.#router.setGroups(event.eniId, event.securityGroupIds);
        return;
      case 'eniCreated':
      case 'eniDeleted':
        return;
    }
  }

  #plug(eni: HypervisorEni): void {
    const netns = this.#guests.get(eni.instanceId);
    if (netns === undefined || this.#slots.has(eni.eniId)) return;
    const device = eni.primary ? PRIMARY_DEVICE : this.#freeDevice(eni.instanceId);
    this.#router.plug({ eniId: eni.eniId, mac: eni.mac, gateways: this.#gateways(eni.vSwitchId) }, netns, device);
    this.#slots.set(eni.eniId, { instanceId: eni.instanceId, device });
    this.#router.setGroups(eni.eniId, eni.securityGroupIds);
    for (const ip of [...eni.ipv4, ...eni.ipv6]) this.#router.assign(eni.eniId, ip);
  }

  /** The lowest ethN that is free: devices come back under the names of those that went, as they do on a real instance. */
  #freeDevice(instanceId: string): string {
    const taken = new Set(
      [...this.#slots.values()].filter((slot) => slot.instanceId === instanceId).map(({ device }) => device),
    );
    for (let index = 1; ; index += 1) if (!taken.has(`eth${index}`)) return `eth${index}`;
  }

  #gateways(vSwitchId: string): string[] {
    const vSwitch = this.#vSwitch(vSwitchId);
    if (vSwitch === null) throw new Error(`hypervisor: vSwitch ${vSwitchId} is not known`);
    return [vSwitch.cidr, ...(vSwitch.ipv6Cidr === null ? [] : [vSwitch.ipv6Cidr])].map((cidr) =>
      vSwitchGateway(parseCidr(cidr)),
    );
  }
}
