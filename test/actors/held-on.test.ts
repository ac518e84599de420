/** Who holds the addresses of an ENI, as leases and reservations on the disk have it. */
import t from 'tap';
import { heldOn } from '../../actors/leases-on-disk.ts';
import type { Lease } from '../../src/core/lease.ts';
import type { Reservation } from '../../src/core/reservation.ts';

const lease = (pod: string, ipv4: string, ipv6: string | null): Lease =>
  ({
    sandbox: { containerId: `box-${pod}`, ifName: 'eth0', pod: { namespace: 'd', name: pod, uid: null } },
    grant: { address: { ipv4, ipv6 }, eni: { eniId: 'eni-a' } },
  }) as unknown as Lease;
const kept = (ipv4: string, ipv6: string | null): [string, Reservation] => [
  ipv4,
  { address: { ipv4, ipv6 }, sandbox: 'box-k/eth0', pod: 'd/k', untilMs: 100 } as unknown as Reservation,
];
const eni = { eniId: 'eni-a', ipv4: ['10.0.0.1', '10.0.0.2'] };

t.test('held: an address that is kept for a pod is kept with its IPv6', async (t) => {
  const held = heldOn(eni, [lease('a', '10.0.0.1', 'fd::1')], new Map([kept('10.0.0.2', 'fd::2')]), 0);
  t.equal(held.get('10.0.0.1')?.ipv6, 'fd::1');
  t.match(held.get('10.0.0.2'), { ipv6: 'fd::2', reservedUntilMs: 100 });
});

t.test('held: an IPv6 that a lease has by now is kept for nobody else', async (t) => {
  const elsewhere = {
    ...lease('b', '10.0.9.1', 'fd::2'),
    grant: { address: { ipv4: '10.0.9.1', ipv6: 'fd::2' }, eni: { eniId: 'eni-b' } },
  };
  for (const one of [lease('a', '10.0.0.1', 'fd::2'), elsewhere as unknown as Lease]) {
    const held = heldOn(eni, [one], new Map([kept('10.0.0.2', 'fd::2')]), 0);
    t.match(held.get('10.0.0.2'), { ipv6: null, reservedUntilMs: 100 });
  }
});
