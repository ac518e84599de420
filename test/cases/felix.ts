/**
 * A double of Calico's Felix on one node of the lab: every period it writes its own routes to pods (protocol 80), takes away those on `cali*` that
 * it did not make, sets its settings and writes its chains anew, of which one drops one flow by policy.
 *
 * Source: projectcalico/calico felix: `RemoveExternalRoutes`, `DeviceRouteProtocol` 80, endpoint_mgr.go (configureInterface), the
 * reverse-path check of raw PREROUTING, marks within 0xffff0000.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Netns } from '../../src/lab/netns/netns.ts';
import { runInside } from '../../src/lab/services/run-inside.ts';

const PROTOCOL = 80;

export type Workload = { readonly device: string; readonly ips: readonly string[] };
export type Denied = { readonly from: readonly string[]; readonly to: readonly string[] };

export class Felix {
  readonly #netns: Netns;
  readonly #workloads: readonly Workload[];
  readonly #denied: Denied;
  readonly #ending = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  resyncs = 0;

  constructor(netns: Netns, workloads: readonly Workload[], denied: Denied) {
    this.#netns = netns;
    this.#workloads = workloads;
    this.#denied = denied;
  }

  start(periodMs: number): void {
    this.#loop = (async () => {
      while (!this.#ending.signal.aborted) {
        await this.resync();
        await sleep(periodMs, undefined, { signal: this.#ending.signal }).catch(() => {});
      }
    })();
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loop;
    await runInside(this.#netns, 'nft', ['-f', '-'], 'delete table inet calico\n');
  }

  async resync(): Promise<void> {
    for (const family of [4, 6] as const) {
      const routes = this.#workloads.flatMap(({ device, ips }) =>
        ips
          .filter((ip) => ip.includes(':') === (family === 6))
          .map(
            (ip) =>
              `route replace ${ip} dev ${device} proto ${PROTOCOL} ${family === 4 ? 'scope link' : 'metric 1024'}`,
          ),
      );
      await runInside(this.#netns, 'ip', [`-${family}`, '-batch', '-'], `${routes.join('\n')}\n`);
    }
    await runInside(this.#netns, 'sh', ['-c', this.#settings()]);
    await runInside(this.#netns, 'nft', ['-f', '-'], this.#chains());
    this.resyncs += 1;
  }

  /** As it sets them for every workload's device, and foreign routes of that device with them. */
  #settings(): string {
    return this.#workloads
      .map(({ device }) => {
        const [v4, v6] = [4, 6].map((family) => `/proc/sys/net/ipv${family}/conf/${device}`);
        return [
          `for s in rp_filter proxy_arp forwarding route_localnet; do echo 1 >${v4}/$s; done`,
          `echo 0 >/proc/sys/net/ipv4/neigh/${device}/proxy_delay`,
          `for s in proxy_ndp forwarding; do echo 1 >${v6}/$s; done`,
          `for f in 4 6; do ip -$f route show dev ${device} | grep -v 'proto 80' | grep -v 'proto kernel' | while read r; do ip -$f route del $r dev ${device}; done; done`,
        ].join('\n');
      })
      .join('\n');
  }

  #chains(): string {
    const { from, to } = this.#denied;
    const drops = from.flatMap((source) =>
      to
        .filter((ip) => ip.includes(':') === source.includes(':'))
        .map((ip) => {
          const family = ip.includes(':') ? 'ip6' : 'ip';
          return `iifname "cali*" ${family} saddr ${source} ${family} daddr ${ip} counter drop`;
        }),
    );
    return `
add table inet calico
delete table inet calico
table inet calico {
  chain raw-PREROUTING {
    type filter hook prerouting priority raw;
    iifname "cali*" meta mark set meta mark or 0x40000
    iifname "cali*" fib saddr . mark . iif oif missing counter drop
  }
  chain filter-FORWARD {
    type filter hook forward priority filter - 5;
    ${drops.join('\n    ')}
  }
}
`;
  }
}
