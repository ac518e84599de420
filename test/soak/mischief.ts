/**
 * What others do to a node's network behind our back: rules and routes flushed (a network service that starts anew, an admin), devices taken
 * down, and a guest's agent that treats ENIs as a DHCP client does.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { FROM_POD_PRIORITY, hostPrefix, TO_POD_PRIORITY } from '../../src/adapters/datapath/pod-plan.ts';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import type { Link } from '../../src/adapters/netlink/link.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { TABLE_MAIN } from '../../src/adapters/netlink/route.ts';
import type { Rule } from '../../src/adapters/netlink/rule.ts';
import { setLink } from '../../src/adapters/netlink/wire/link.ts';
import { deleteRoute } from '../../src/adapters/netlink/wire/route.ts';
import { deleteRule } from '../../src/adapters/netlink/wire/rule.ts';
import type { Runtime } from '../lab/whole-path.ts';

export const FLUSHES = [
  'rules',
  'some rules',
  'ENI tables',
  'ENI down and up',
  'pod routes',
  'host ends down',
] as const;
export type Flush = (typeof FLUSHES)[number];

/** What there may be at once to begin with: a rule goes, or a device, while we look. */
const GONE = ['ENOENT', 'ESRCH', 'ENODEV'];
/** Routes of ENIs are in tables from here on. */
const TABLE_MIN = 1_000;

export class Mischief {
  readonly #runtime: Runtime;
  readonly #netlink: Netlink;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#netlink = new Netlink(openKoffiLibc(), runtime.node.guest.netns.fd);
  }

  close(): void {
    this.#netlink.close();
  }

  /** At one stroke; `chosen` says of some rules which. Only what belongs to pods and ENIs: what others have is not ours to break. */
  flush(what: Flush, chosen: () => boolean): void {
    const netlink = this.#netlink;
    switch (what) {
      case 'rules':
        netlink.apply(this.#podRules().map(deleteRule), GONE);
        return;
      case 'some rules':
        netlink.apply(this.#podRules().filter(chosen).map(deleteRule), GONE);
        return;
      case 'ENI tables':
        netlink.apply(
          netlink
            .routes(4)
            .filter(({ table }) => table > TABLE_MIN)
            .map(deleteRoute),
          GONE,
        );
        return;
      case 'ENI down and up':
        for (const { link } of this.#enis())
          netlink.apply([setLink(link.index, { up: false }), setLink(link.index, { up: true })], GONE);
        return;
      case 'pod routes': {
        const ends = new Set(this.#hostEnds().map(({ index }) => index));
        const routes = netlink.routes(4, TABLE_MAIN).filter(({ linkIndex }) => ends.has(linkIndex ?? 0));
        netlink.apply(routes.map(deleteRoute), GONE);
        return;
      }
      case 'host ends down':
        netlink.apply(
          this.#hostEnds().map(({ index }) => setLink(index, { up: false })),
          GONE,
        );
    }
  }

  /** Whose addresses there are rules about. */
  ruled(): readonly string[] {
    return this.#podRules().map(({ source, destination }) => (source ?? destination)?.ip ?? '');
  }

  /** Whose addresses `lease` would take now: the primary one of each ENI. */
  primaries(): readonly string[] {
    return this.#enis().map(({ primary }) => primary);
  }

  /** The primary address of each ENI on its device, and a default route by it, for a while: what a DHCP client does. */
  async lease(): Promise<void> {
    const lines = this.#enis().flatMap(({ link: { name }, primary, gateway }) => [
      `link set ${name} up`,
      `addr replace ${primary}/24 dev ${name} valid_lft 600 preferred_lft 600`,
      `route replace default via ${gateway} dev ${name} proto dhcp metric 100`,
    ]);
    const { command, args } = this.#runtime.node.guest.netns.command('ip', ['-force', '-batch', '-']);
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.on('error', () => {});
    child.stdin.end(`${lines.join('\n')}\n`);
    await once(child, 'close');
  }

  /** Ours in form: both priorities, about one address. */
  #podRules(): Rule[] {
    const whole = (one: Rule['source']) => one !== null && one.prefix === hostPrefix(one.ip).prefix;
    return this.#netlink
      .rules(4)
      .filter(
        ({ priority, source, destination, narrower }) =>
          !narrower &&
          ((priority === TO_POD_PRIORITY && whole(destination)) || (priority === FROM_POD_PRIORITY && whole(source))),
      );
  }

  #hostEnds(): Link[] {
    return this.#netlink.links().filter(({ name }) => name.startsWith('cali'));
  }

  #enis(): { readonly link: Link; readonly primary: string; readonly gateway: string }[] {
    const links = this.#netlink.links();
    return this.#runtime.enis.flatMap((eni) => {
      const link = links.find(({ mac }) => mac === eni.mac);
      const [primary] = eni.ipv4;
      return link === undefined || primary === undefined
        ? []
        : { link, primary, gateway: primary.replace(/\d+$/, '253') };
    });
  }
}
