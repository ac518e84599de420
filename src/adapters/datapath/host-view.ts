/** One reading of the host's links, routes and rules, and questions to it. Addresses are read when somebody asks. */
import { type Family, familyOf } from '../../core/ip.ts';
import type { Addr } from '../netlink/addr.ts';
import type { Link } from '../netlink/link.ts';
import type { Netlink } from '../netlink/netlink.ts';
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import type { Rule } from '../netlink/rule.ts';
import { hostPrefix } from './pod-plan.ts';

export const FAMILIES: readonly Family[] = [4, 6];

export class HostView {
  readonly links: readonly Link[];
  readonly #byIndex: ReadonlyMap<number, Link>;
  readonly #routes: ReadonlyMap<Family, readonly Route[]>;
  readonly #rules = new Map<string, Rule[]>();
  readonly #others: Rule[] = [];
  /** `/32` and `/128` routes of the main table. */
  readonly #hostRoutes = new Map<string, Route>();
  readonly #netlink: Netlink;
  #addrs: readonly Addr[] | null = null;

  constructor(netlink: Netlink) {
    this.#netlink = netlink;
    this.links = netlink.links();
    this.#byIndex = new Map(this.links.map((link) => [link.index, link]));
    this.#routes = new Map(FAMILIES.map((family) => [family, netlink.routes(family)]));
    for (const route of FAMILIES.flatMap((family) => this.routes(family, TABLE_MAIN))) {
      const { destination } = route;
      if (destination !== null && destination.prefix === hostPrefix(destination.ip).prefix)
        this.#hostRoutes.set(destination.ip, this.#hostRoutes.get(destination.ip) ?? route);
    }
    for (const rule of FAMILIES.flatMap((family) => netlink.rules(family))) {
      const about = rule.source ?? rule.destination;
      if (about === null || about.prefix !== hostPrefix(about.ip).prefix) {
        this.#others.push(rule);
        continue;
      }
      this.#rules.set(about.ip, [...(this.#rules.get(about.ip) ?? []), rule]);
    }
  }

  link(index: number | null): Link | null {
    return index === null ? null : (this.#byIndex.get(index) ?? null);
  }

  routes(family: Family, table: number): readonly Route[] {
    return (this.#routes.get(family) ?? []).filter((route) => route.table === table);
  }

  /** The main table's route to exactly this address. */
  routeTo(ip: string): Route | null {
    return this.#hostRoutes.get(ip) ?? null;
  }

  /** Routes to exactly this address, in whatever table. */
  routesTo(ip: string): readonly Route[] {
    const { prefix } = hostPrefix(ip);
    const routes = this.#routes.get(familyOf(ip)) ?? [];
    return routes.filter(({ destination }) => destination?.ip === ip && destination.prefix === prefix);
  }

  /** Addresses that the main table sends to this device alone. */
  addressesBehind(link: Link): string[] {
    return [...this.#hostRoutes].filter(([, route]) => route.linkIndex === link.index).map(([ip]) => ip);
  }

  /** Rules that are about exactly this address. */
  rulesOf(ip: string): readonly Rule[] {
    return this.#rules.get(ip) ?? [];
  }

  /** Addresses that rules are about. */
  ruledIps(): readonly string[] {
    return [...this.#rules.keys()];
  }

  /** Rules that are about no single address. */
  otherRules(family: Family): readonly Rule[] {
    return this.#others.filter((rule) => rule.family === family);
  }

  addrs(link: Link): readonly Addr[] {
    this.#addrs ??= FAMILIES.flatMap((family) => this.#netlink.addrs(family));
    return this.#addrs.filter((addr) => addr.linkIndex === link.index);
  }
}
