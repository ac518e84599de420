/**
 * Keeps what security groups forbid from passing: a rule `iif <ENI> to <address of another>` into a sink for each pair that may not.
 *
 * Only forbidden pairs have rules, so that a VPC with one normal group has none.
 * Limits: without state, so that an answer needs the other direction allowed too; both ends have to be ENIs of the VPC.
 */
import type { Netlink } from '../../adapters/netlink/netlink.ts';
import type { Request } from '../../adapters/netlink/wire/message.ts';
import { addRule, deleteRule } from '../../adapters/netlink/wire/rule.ts';
import { familyOf } from '../../core/ip.ts';

/** Whether who is in the groups `from` may reach who is in the groups `to`. */
export type MayReach = (from: readonly string[], to: readonly string[]) => boolean;

export type GroupMember = {
  readonly device: string;
  readonly addresses: ReadonlySet<string>;
  /** null: not told, so nothing is kept from it. */
  readonly groups: readonly string[] | null;
};

export class GroupRules {
  readonly #netlink: Netlink;
  readonly #priority: number;
  readonly #table: number;
  readonly #installed = new Map<string, { readonly device: string; readonly ip: string }>();

  constructor(netlink: Netlink, priority: number, table: number) {
    this.#netlink = netlink;
    this.#priority = priority;
    this.#table = table;
  }

  /** Makes the rules those that these members need. */
  follow(members: readonly GroupMember[], mayReach: MayReach): void {
    const wanted = new Map<string, { readonly device: string; readonly ip: string }>();
    for (const from of members) {
      for (const to of members) {
        if (from === to || from.groups === null || to.groups === null || mayReach(from.groups, to.groups)) continue;
        for (const ip of to.addresses) wanted.set(`${from.device} ${ip}`, { device: from.device, ip });
      }
    }
    const gone = [...this.#installed].filter(([key]) => !wanted.has(key));
    const fresh = [...wanted].filter(([key]) => !this.#installed.has(key));
    if (gone.length > 0)
      this.#netlink.apply(
        gone.map(([, one]) => this.#rule(one, deleteRule)),
        ['ENOENT'],
      );
    if (fresh.length > 0)
      this.#netlink.apply(
        fresh.map(([, one]) => this.#rule(one, addRule)),
        ['EEXIST'],
      );
    for (const [key] of gone) this.#installed.delete(key);
    for (const [key, one] of fresh) this.#installed.set(key, one);
  }

  #rule({ device, ip }: { device: string; ip: string }, make: typeof addRule): Request {
    const family = familyOf(ip);
    const destination = { ip, prefix: family === 4 ? 32 : 128 };
    return make({ family, priority: this.#priority, incoming: device, destination, table: this.#table });
  }
}
