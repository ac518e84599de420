/**
 * The node's own table of nf_tables and what goes with it, as it has to be and as it is.
 *
 * One table `inet enactor` for all that concerns the node as a whole, replaced as a whole. Four wants share it: pods are kept from the metadata service
 * (pod-metadata.ts), what bears the node's address goes by
 * the node's interface (reply-paths.ts), what comes from a pod is sent and told as such (pod-origin.ts), and pods whose addresses are not the VPC's bear the node's address where theirs is not routed (mode VPC).
 */

import { HOST_VETH_PREFIX } from '../../core/host-veth-name.ts';
import type { Family } from '../../core/ip.ts';
import { parseCidr } from '../../core/ip.ts';
import { isWhole, lackingChains } from '../netlink/filter-table.ts';
import type { Libc } from '../netlink/libc.ts';
import type { BaseChain, NftTable } from '../netlink/nft-table.ts';
import { TABLE_MAIN } from '../netlink/route.ts';
import {
  comesBy,
  comesByGroup,
  comesFrom,
  connectionHas,
  destinationRewritten,
  goesOutOf,
  leavesBy,
  leavesByGroup,
  leavesNotBy,
  masquerade,
  packetLacks,
} from '../netlink/wire/nftables.ts';
import type { Fix } from './fix.ts';
import type { HostView } from './host-view.ts';
import { podMetadataChain } from './pod-metadata.ts';
import { POD_MARK, podOriginChains } from './pod-origin.ts';
import {
  ownReplyChain,
  primaryDevice,
  primaryFixes,
  REPLY_MARK,
  replyPathChains,
  replyRuleFixes,
} from './reply-paths.ts';
import { DIRECT_GROUP } from './sandbox-device.ts';

/** Pods in the prefix `from` bear the node's address outside of the prefixes `except`, which are of the same family. */
export type Masquerade = { readonly from: string; readonly except: readonly string[] };

const SOURCE_NAT = 100;

export class NodeFilter {
  readonly #libc: Libc;
  readonly #families: readonly Family[];
  #masquerades: readonly Masquerade[] = [];
  #services = false;
  #own = false;
  #metadata = false;
  #table: NftTable | null = null;
  #lacking: readonly BaseChain['type'][] | null = null;
  readonly #ask: (libc: Libc) => readonly BaseChain['type'][];

  /** `families`: those whose answers go back by the node's interface. */
  constructor(libc: Libc, families: readonly Family[], ask: typeof lackingChains = lackingChains) {
    this.#libc = libc;
    this.#families = families;
    this.#ask = ask;
  }

  /** Kinds of chains that this kernel does not take, which the table goes without; null while the kernel cannot be asked. */
  get lacking(): readonly BaseChain['type'][] | null {
    try {
      this.#lacking ??= this.#ask(this.#libc);
    } catch {
      // No right to: whoever installs the table is told.
    }
    return this.#lacking;
  }

  /** As `fixes` wanted it last; null before, and where nothing is wanted. */
  get table(): NftTable | null {
    return this.#table;
  }

  masqueradeServices(): void {
    this.#services = true;
  }

  /** Pods that have an ENI of their own are beside others that share theirs. It stays so: such pods come again. */
  serveOwnEnis(): void {
    this.#services = true;
    this.#own = true;
  }

  keepFromMetadata(): void {
    this.#metadata = true;
  }

  masquerade(all: readonly Masquerade[]): void {
    this.#masquerades = all;
  }

  fixes(view: HostView, eniMacs: ReadonlySet<string>): Fix[] {
    // Of a host that has no default route no answers are sent anywhere.
    const primary = this.#families.length === 0 ? null : primaryDevice(view.routes(4, TABLE_MAIN), view.links, eniMacs);
    const wanted = tableOf(primary, this.#masquerades, this.#services, this.#own, this.#metadata);
    this.#table = wanted === null ? null : takenOf(wanted, this.lacking ?? []);
    const rules = primary === null ? [] : this.#families;
    return [
      ...(this.#table === null ? [] : this.#tableFixes(this.#table)),
      ...rules.flatMap((family) => replyRuleFixes(family, view.otherRules(family))),
      ...(primary === null ? [] : primaryFixes(primary)),
    ];
  }

  #tableFixes(table: NftTable): Fix[] {
    const base = { kind: 'nodeFilter', object: `table inet ${table.name}`, pod: null, requests: [] } as const;
    try {
      return isWhole(this.#libc, table) ? [] : [{ ...base, detail: null, filter: table }];
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return [{ ...base, detail: `the kernel's filter cannot be read: ${why}` }];
    }
  }
}

/** null where nothing is wanted. */
function tableOf(
  primary: string | null,
  masquerades: readonly Masquerade[],
  services: boolean,
  own: boolean,
  metadata: boolean,
): NftTable | null {
  const chains = [
    ...(metadata ? [podMetadataChain()] : []),
    ...(primary === null ? [] : [...replyPathChains(primary), ...podOriginChains()]),
    ...(masquerades.length === 0 ? [] : [masqueradeChain(masquerades)]),
    ...(services ? [serviceChain(primary)] : []),
    ...(own && primary !== null ? [ownReplyChain()] : []),
  ];
  if (chains.length === 0) return null;
  const words = [
    ...(metadata ? ['no metadata for pods'] : []),
    ...(primary === null ? [] : [`replies by ${primary}`]),
    ...(services ? ['services masqueraded'] : []),
    ...(own ? ['own ENIs'] : []),
    ...masquerades.map(({ from, except }) => `${from} masqueraded outside ${except.join(' ')}`),
  ];
  return { name: 'enactor', comment: `enactor: ${words.join(', ')}`, chains };
}

/** All of a table is refused with one of its chains. Without any nf_tables it stays as it is wanted, so that its lack is told. */
function takenOf(table: NftTable | null, lacking: readonly BaseChain['type'][]): NftTable | null {
  if (table === null || lacking.length === 0 || lacking.includes('filter')) return table;
  const chains = table.chains.filter(({ type }) => !lacking.includes(type));
  return chains.length === 0 ? null : { ...table, chains };
}

function masqueradeChain(all: readonly Masquerade[]): BaseChain {
  return {
    name: 'masquerade',
    type: 'nat',
    hook: 'postrouting',
    priority: SOURCE_NAT,
    rules: all.map(({ from, except }) => [
      ...comesFrom(parseCidr(from)),
      ...except.flatMap((range) => goesOutOf(parseCidr(range))),
      ...leavesNotBy(`${HOST_VETH_PREFIX}*`),
      ...masquerade(),
    ]),
  };
}

/**
 * A pod on the network itself sends through the host only what a service's rules may turn elsewhere; with the pod's source it would leave by a device
 * that is not the pod's, and the answer would go to the pod past the host. What comes to it through a service is answered to the host likewise.
 *
 * A packet of it for a service's address from outside goes where the network leads it, maybe to a node without a backend; kube-proxy
 * there takes it for a pod of its own and turns it elsewhere with the pod's source, which that node's ENI must not send.
 *
 * What IPVS has rewritten is not told as such by its connection. From a pod it is what has lost its mark on the way (pod-origin.ts); to a pod it is what began on
 * the primary's device, by which nothing reaches such a pod as it is. What IPVS sends on for a service of policy Local without a backend here stays as it is, and
 * the network drops it, as policy Local has it.
 * Pods behind a pair alone keep their address. Source: cases/field F1, F2, F4; net/netfilter/ipvs/ip_vs_nfct.c (no IPS_DST_NAT).
 */
function serviceChain(primary: string | null): BaseChain {
  return {
    name: 'services',
    type: 'nat',
    hook: 'postrouting',
    priority: SOURCE_NAT,
    rules: [
      [...comesByGroup(DIRECT_GROUP), ...destinationRewritten(), ...masquerade()],
      [...leavesByGroup(DIRECT_GROUP), ...destinationRewritten(), ...masquerade()],
      ...(primary === null
        ? []
        : [
            [...comesByGroup(DIRECT_GROUP), ...packetLacks(POD_MARK), ...masquerade()],
            [...leavesByGroup(DIRECT_GROUP), ...connectionHas(REPLY_MARK), ...masquerade()],
            [...comesBy(primary), ...leavesBy(primary), ...destinationRewritten(), ...masquerade()],
          ]),
    ],
  };
}
