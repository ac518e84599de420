/**
 * One node's kube-proxy: reads services and endpoint slices from the API server and writes its rules into the node's namespace with the
 * distribution's own `iptables-restore`, `nft` or `ipvsadm`.
 *
 * It does so when told to, not by a watch: who changes pods or services of the lab says when.
 */
import type { ApiServer } from '../apiserver/api-server.ts';
import type { Netns } from '../netns/netns.ts';
import { writeSysctl } from '../netns/sysctl.ts';
import { IPTABLES_JUMPS, iptablesRules, type Jump } from './iptables-rules.ts';
import { IPVS_DEVICE, IPVS_JUMPS, ipvsAddresses, ipvsRules, ipvsServers } from './ipvs-rules.ts';
import type { ProxyNode } from './local-traffic.ts';
import { NFT_TABLE, nftRules } from './nft-rules.ts';
import { servicesOf, slicesOf } from './publish-service.ts';
import { runInside } from './run-inside.ts';
import { type ServicePort, servicePorts } from './service-port.ts';

export type ProxyForm = 'iptables' | 'nft' | 'ipvs';

/** The forms that need nothing but what most kernels have; IPVS is tried in a virtual machine. */
export const PROXY_FORMS: readonly ProxyForm[] = ['iptables', 'nft'];

const FAMILIES = [4, 6] as const;

export class KubeProxy {
  readonly #netns: Netns;
  readonly #api: ApiServer;
  readonly #form: ProxyForm;
  readonly #node: ProxyNode;
  /** Chains of ours by family and table, as they were written last. */
  readonly #chains = new Map<string, readonly string[]>();
  #hasDevice = false;

  constructor(netns: Netns, api: ApiServer, form: ProxyForm, node: ProxyNode) {
    this.#netns = netns;
    this.#api = api;
    this.#form = form;
    this.#node = node;
  }

  /** Writes the rules anew. Rejects with the words of the program that refused them. */
  async sync(): Promise<void> {
    if (this.#form === 'ipvs') {
      await this.#syncIpvs();
      return;
    }
    for (const family of FAMILIES) {
      const ports = this.#ports(family);
      if (this.#form === 'nft') await this.#run('nft', ['-f', '-'], nftRules(ports, this.#node, family));
      else await this.#restore(family, iptablesRules(ports, this.#node, family));
    }
  }

  #ports(family: 4 | 6): readonly ServicePort[] {
    return servicePorts(servicesOf(this.#api), slicesOf(this.#api), family);
  }

  /** Virtual servers are made anew, which a proxy that runs for long would not do. */
  async #syncIpvs(): Promise<void> {
    // Without it what IPVS sends is not seen by the rules that masquerade.
    this.#netns.run(() => writeSysctl('net/ipv4/vs/conntrack', '1'));
    if (!this.#hasDevice) await this.#run('ip', ['link', 'add', IPVS_DEVICE, 'type', 'dummy'], '');
    this.#hasDevice = true;
    const byFamily = FAMILIES.map((family) => ({ family, ports: this.#ports(family) }));
    const addresses = byFamily.flatMap(({ ports }) => ipvsAddresses(ports));
    await this.#run('ip', ['addr', 'flush', 'dev', IPVS_DEVICE], '');
    const adding = addresses.map(
      (ip) => `addr add ${ip}/${ip.includes(':') ? '128 nodad' : '32'} dev ${IPVS_DEVICE}\n`,
    );
    await this.#run('ip', ['-batch', '-'], adding.join(''));
    await this.#run('ipvsadm', ['--clear'], '');
    await this.#run('ipvsadm', ['--restore'], byFamily.map(({ ports }) => ipvsServers(ports, this.#node)).join(''));
    for (const { family, ports } of byFamily) await this.#restore(family, ipvsRules(ports, this.#node, family));
  }

  /** Takes away all that it wrote, as `kube-proxy --cleanup` does; what others wrote stays. */
  async remove(): Promise<void> {
    if (this.#form === 'nft') {
      const text = FAMILIES.map((family) => `delete table ${family === 4 ? 'ip' : 'ip6'} ${NFT_TABLE}\n`).join('');
      await this.#run('nft', ['-f', '-'], text);
      return;
    }
    if (this.#hasDevice) {
      await this.#run('ipvsadm', ['--clear'], '');
      await this.#run('ip', ['link', 'del', IPVS_DEVICE], '');
      this.#hasDevice = false;
    }
    for (const family of FAMILIES) {
      const tables = ['filter', 'nat'].map((table) => {
        const chains = this.#chains.get(`${family} ${table}`) ?? [];
        const jumps = chains.length === 0 ? [] : this.#jumps.filter((jump) => jump.table === table);
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
      const jumps = before === undefined ? this.#jumps.filter((jump) => jump.table === table) : [];
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

  get #jumps(): readonly Jump[] {
    return this.#form === 'ipvs' ? IPVS_JUMPS : IPTABLES_JUMPS;
  }

  async #run(program: string, args: readonly string[], input: string): Promise<void> {
    await runInside(this.#netns, program, args, input);
  }
}

const RESTORE_ARGS = ['--noflush', '-w', '5'];

function restoreOf(family: 4 | 6): string {
  return family === 4 ? 'iptables-restore' : 'ip6tables-restore';
}
