/**
 * One node's kube-proxy: reads services and endpoint slices from the API server and writes its rules into the node's namespace with the
 * distribution's own `iptables-restore` or `nft`.
 *
 * It does so when told to, not by a watch: who changes pods or services of the lab says when.
 */
import type { ApiServer } from '../apiserver/api-server.ts';
import type { Netns } from '../netns/netns.ts';
import { IPTABLES_JUMPS, iptablesRules } from './iptables-rules.ts';
import type { ProxyNode } from './local-traffic.ts';
import { NFT_TABLE, nftRules } from './nft-rules.ts';
import { servicesOf, slicesOf } from './publish-service.ts';
import { runInside } from './run-inside.ts';
import { servicePorts } from './service-port.ts';

/** The forms that need nothing but what most kernels have; IPVS is tried in a virtual machine. */
export type ProxyForm = 'iptables' | 'nft';

export const PROXY_FORMS: readonly ProxyForm[] = ['iptables', 'nft'];

const FAMILIES = [4, 6] as const;

export class KubeProxy {
  readonly #netns: Netns;
  readonly #api: ApiServer;
  readonly #form: ProxyForm;
  readonly #node: ProxyNode;
  /** Chains of ours by family and table, as they were written last. */
  readonly #chains = new Map<string, readonly string[]>();

  constructor(netns: Netns, api: ApiServer, form: ProxyForm, node: ProxyNode) {
    this.#netns = netns;
    this.#api = api;
    this.#form = form;
    this.#node = node;
  }

  /** Writes the rules anew. Rejects with the words of the program that refused them. */
  async sync(): Promise<void> {
    for (const family of FAMILIES) {
      const ports = servicePorts(servicesOf(this.#api), slicesOf(this.#api), family);
      if (this.#form === 'nft') await this.#run('nft', ['-f', '-'], nftRules(ports, this.#node, family));
      else await this.#restore(family, iptablesRules(ports, this.#node, family));
    }
  }

  /** Takes away all that it wrote, as `kube-proxy --cleanup` does; what others wrote stays. */
  async remove(): Promise<void> {
    if (this.#form === 'nft') {
      const text = FAMILIES.map((family) => `delete table ${family === 4 ? 'ip' : 'ip6'} ${NFT_TABLE}\n`).join('');
      await this.#run('nft', ['-f', '-'], text);
      return;
    }
    for (const family of FAMILIES) {
      const tables = ['filter', 'nat'].map((table) => {
        const chains = this.#chains.get(`${family} ${table}`) ?? [];
        const jumps = chains.length === 0 ? [] : IPTABLES_JUMPS.filter((jump) => jump.table === table);
        return [
          `*${table}`,
          ...chains.map((name) => `:${name} - [0:0]`),
          ...jumps.map(({ chain, rule }) => `-D ${chain} ${rule}`),
          ...chains.map((name) => `-X ${name}`),
          'COMMIT\n',
        ].join('\n');
      });
      await this.#run(restoreOf(family), RESTORE_ARGS, tables.join(''));
    }
    this.#chains.clear();
  }

  /** Adds the jumps when the tables are new, and removes chains that are no longer wanted. */
  async #restore(family: 4 | 6, rules: string): Promise<void> {
    let text = '';
    for (const part of rules.split('COMMIT\n')) {
      const table = /^\*(\w+)/.exec(part)?.[1];
      if (table === undefined) continue;
      const key = `${family} ${table}`;
      const before = this.#chains.get(key);
      const chains = [...part.matchAll(/^:(\S+)/gm)].map(([, name]) => name ?? '');
      const stale = (before ?? []).filter((name) => !chains.includes(name));
      const jumps = before === undefined ? IPTABLES_JUMPS.filter((jump) => jump.table === table) : [];
      text += [
        part.trimEnd(),
        ...jumps.map(({ chain, rule }) => `-I ${chain} 1 ${rule}`),
        ...stale.flatMap((name) => [`-F ${name}`, `-X ${name}`]),
        'COMMIT\n',
      ].join('\n');
      this.#chains.set(key, chains);
    }
    await this.#run(restoreOf(family), RESTORE_ARGS, text);
  }

  async #run(program: string, args: readonly string[], input: string): Promise<void> {
    await runInside(this.#netns, program, args, input);
  }
}

const RESTORE_ARGS = ['--noflush', '-w', '5'];

function restoreOf(family: 4 | 6): string {
  return family === 4 ? 'iptables-restore' : 'ip6tables-restore';
}
