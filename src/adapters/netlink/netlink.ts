import { type Family, familyOf, ipBytes } from '../../core/ip.ts';
import type { Addr } from './addr.ts';
import { ENOBUFS } from './errno.ts';
import type { Libc } from './libc.ts';
import type { Link } from './link.ts';
import type { Neighbour } from './neighbour.ts';
import { NetlinkError } from './netlink-error.ts';
import { NetlinkSocket, type Outcome } from './netlink-socket.ts';
import type { Qdisc } from './qdisc.ts';
import type { Route } from './route.ts';
import type { Rule } from './rule.ts';
import { decodeAddr, dumpAddrs } from './wire/addr.ts';
import { decodeLink, dumpLinks, getLinkByIndex, getLinkByName } from './wire/link.ts';
import type { Request } from './wire/message.ts';
import { decodeNeighbour, dumpNeighbours } from './wire/neighbour.ts';
import { decodeQdisc, dumpQdiscs } from './wire/qdisc.ts';
import { decodeRoute, dumpRoutes, matchRoute } from './wire/route.ts';
import { beginsBeyond, decodeRule, dumpRules, rulesNaming } from './wire/rule.ts';

/**
 * The kernel's links, addresses, routes, rules and neighbours of one network namespace.
 *
 * Reading is by the methods here; writing is by requests (src/adapters/netlink/wire), several in one send. Everything is
 * synchronous and takes well under a millisecond for a node's worth of pods. Errors are NetlinkError.
 */
export class Netlink {
  readonly #libc: Libc;
  readonly #netnsFd: number | null;
  #socket: NetlinkSocket;

  /** In the caller's namespace, or in the one behind `netnsFd`. */
  constructor(libc: Libc, netnsFd: number | null = null) {
    this.#libc = libc;
    this.#netnsFd = netnsFd;
    this.#socket = new NetlinkSocket(libc, netnsFd);
  }

  close(): void {
    this.#socket.close();
  }

  /** One outcome per request; the later ones are tried even when an earlier one failed. */
  execute(requests: readonly Request[]): Outcome[] {
    return this.#socket.execute(requests);
  }

  /**
   * Like execute, but the first error is thrown after all were tried; `tolerated` names codes that count as done.
   * @returns whether any request changed something, and was not merely tolerated
   */
  apply(requests: readonly Request[], tolerated: readonly string[] = []): boolean {
    const outcomes = this.execute(requests);
    const failed = outcomes.find(({ error }) => error !== null && !tolerated.includes(error.code));
    if (failed?.error) throw failed.error;
    return outcomes.some(({ error }) => error === null);
  }

  linkByName(name: string): Link | null {
    return this.#oneLink(getLinkByName(name));
  }

  linkByIndex(index: number): Link | null {
    return this.#oneLink(getLinkByIndex(index));
  }

  links(): Link[] {
    return this.#socket.dump(dumpLinks()).map(decodeLink);
  }

  addrs(family: Family, linkIndex: number | null = null): Addr[] {
    const all = this.#socket.dump(dumpAddrs(family)).map(decodeAddr);
    return linkIndex === null ? all : all.filter((addr) => addr.linkIndex === linkIndex);
  }

  /** Of all tables when `table` is null, over all devices when `linkIndex` is. A table that does not exist is empty. */
  routes(family: Family, table: number | null = null, linkIndex: number | null = null): Route[] {
    return this.#list(dumpRoutes(family, table, linkIndex))
      .map(decodeRoute)
      .filter((route) => route !== null)
      .filter((route) => table === null || route.table === table)
      .filter((route) => linkIndex === null || route.linkIndex === linkIndex);
  }

  /** The entry that a packet to the address takes now, whatever its table; null: none, or the kernel does not tell entries. */
  routeTaken(ip: string): Route | null {
    const [outcome] = this.execute([matchRoute(ip)]);
    const body = outcome?.error === null ? outcome.data[0] : undefined;
    return body === undefined ? null : decodeRoute(body);
  }

  rules(family: Family): Rule[] {
    return this.#listByPosition(dumpRules(family))
      .map(decodeRule)
      .filter((rule) => rule !== null);
  }

  /** Those whose source or destination is exactly one of these addresses, in the kernel's order; what names none of them is not decoded. */
  rulesAbout(ips: readonly string[]): Rule[] {
    return byFamily(ips).flatMap(([family, about]) => {
      const bytes = about.map((ip) => Buffer.from(ipBytes(ip)));
      return this.#listByPosition(dumpRules(family))
        .filter((body) => bytes.some((one) => body.includes(one)))
        .map(decodeRule)
        .filter((rule) => rule !== null)
        .filter((rule) => isAbout(rule, about));
    });
  }

  /**
   * The same up to a priority, of one reading, which may have passed over some while others change theirs; null where none was whole. Where the rest of
   * the list is left unread a new socket takes the old one's place, in the namespace in which the caller is: only for conversations with that.
   */
  rulesAtAGlance(ips: readonly string[], lastPriority: number): Rule[] | null {
    const found: Rule[] = [];
    for (const [family, about] of byFamily(ips)) {
      const bytes = about.map((ip) => Buffer.from(ipBytes(ip)));
      const seen = this.#socket.glance(dumpRules(family), (datagram) => {
        if (beginsBeyond(datagram, lastPriority)) return 'enough';
        found.push(...rulesNaming(bytes, datagram).filter((rule) => isAbout(rule, about)));
        return 'more';
      });
      if (seen !== 'whole') {
        this.#socket.close();
        this.#socket = new NetlinkSocket(this.#libc, this.#netnsFd);
      }
      if (seen === 'broken') return null;
    }
    return found;
  }

  neighbours(family: Family, linkIndex: number): Neighbour[] {
    const all = this.#socket.dump(dumpNeighbours(family)).map(decodeNeighbour);
    return all.filter((neighbour) => neighbour.linkIndex === linkIndex);
  }

  /** What is at a device's root; null where nothing is that was put there. Devices are walked by position and each bears figures: one that is missed is looked for again. */
  rootQdisc(linkIndex: number): Qdisc | null {
    const look = () => {
      const all = this.#list(dumpQdiscs()).map(decodeQdisc);
      return all.find((qdisc) => qdisc?.linkIndex === linkIndex) ?? null;
    };
    return look() ?? look();
  }

  #list(request: Request): Buffer[] {
    return orEmpty(() => this.#socket.dump(request));
  }

  #listByPosition(request: Request): Buffer[] {
    return orEmpty(() => this.#socket.dumpByPosition(request));
  }

  #oneLink(request: Request): Link | null {
    const outcome = this.execute([request])[0];
    if (outcome?.error?.code === 'ENODEV') return null;
    if (outcome?.error) throw outcome.error;
    const body = outcome?.data[0];
    // One that is not there is an error of the kernel's: here its answer was lost, and the acknowledgement after it was not.
    if (body === undefined) throw new NetlinkError(ENOBUFS, request.operation, request.object, 'no answer came');
    return decodeLink(body);
  }
}

function byFamily(ips: readonly string[]): (readonly [Family, readonly string[]])[] {
  return ([4, 6] as const)
    .map((family) => [family, [...new Set(ips.filter((ip) => familyOf(ip) === family))]] as const)
    .filter(([, about]) => about.length > 0);
}

function isAbout({ source, destination }: Rule, ips: readonly string[]): boolean {
  return [source, destination].some(
    (end) => end !== null && ips.includes(end.ip) && end.prefix === 8 * ipBytes(end.ip).length,
  );
}

/** A strict dump of a table, or of a family, that the kernel does not have answers ENOENT or EAFNOSUPPORT: empty. */
function orEmpty(read: () => Buffer[]): Buffer[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof NetlinkError && ['ENOENT', 'EAFNOSUPPORT', 'EOPNOTSUPP'].includes(error.code)) return [];
    throw error;
  }
}
