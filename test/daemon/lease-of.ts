import type { Lease } from '../../src/core/lease.ts';

/** A lease as an ENI would grant it, of the pod default/p. */
export function leaseOf(containerId: string, more: { ifName?: string; ipv6?: string; boundAtMs?: number } = {}): Lease {
  return {
    version: 1,
    sandbox: {
      containerId,
      ifName: more.ifName ?? 'eth0',
      netns: '/run/netns/p',
      network: 'enactor',
      pod: { namespace: 'default', name: 'p', uid: 'uid-p' },
    },
    grant: {
      address: { ipv4: '192.168.0.12', ipv6: more.ipv6 ?? null },
      eni: {
        eniId: 'eni-1',
        mac: '00:16:3e:00:00:01',
        subnet: {
          cidr: '192.168.0.0/24',
          gateway: '192.168.0.253',
          ipv6Cidr: '2001:db8::/64',
          ipv6Gateway: '2001:db8::f7',
        },
        device: { name: 'eth1', ifindex: 4, routeTable: 1004, mtu: 1500 },
      },
    },
    boundAtMs: more.boundAtMs ?? 1_000,
  };
}
