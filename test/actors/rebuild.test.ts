import t from 'tap';
import { rebuild } from '../../actors/rebuild.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import type { EniBinding } from '../../src/core/lease.ts';

type Asked = Parameters<typeof rebuild>[0];
const eni = { eniId: 'eni-1', mac: '00:16:3e:00:00:01', ipv4: ['10.0.0.6', '10.0.0.7'], ipv6: ['fd00::3'] };
const pod = { sandbox: { containerId: 's', ifName: 'eth0', pod: { namespace: 'ns', name: 'p', uid: null } } };
/** What is not looked at is left out. */
const witnesses = (ips: readonly string[], reserved: readonly string[]): Asked =>
  ({
    ...{ enis: [eni as unknown as CloudEni], leases: [], released: new Map(), left: new Map(), whole: false },
    pods: ips.length === 0 ? [] : [{ ...pod, ips, routeTable: 1001 }],
    ...{ reserved: new Set(reserved), bootId: 'b', nowMs: 0, bindingOf: () => ({}) as EniBinding },
  }) as unknown as Asked;
const ipv6Of = (asked: Asked): readonly (string | null)[] => {
  const { rebuilt, heldBack } = rebuild(asked);
  return [...rebuilt, ...heldBack].map(({ grant }) => grant.address.ipv6).filter((ip) => ip !== null);
};

t.test('rebuild: of a pod that the host has at two addresses its IPv6 is one lease’s (seed 1304)', (t) => {
  t.strictSame(ipv6Of(witnesses(['10.0.0.6', '10.0.0.7', 'fd00::3'], [])), ['fd00::3']);
  t.end();
});

t.test('rebuild: an IPv6 that is kept for a pod goes with no address that nobody can name', (t) => {
  t.strictSame(ipv6Of(witnesses([], ['10.0.0.7', 'fd00::3'])), []);
  t.strictSame(ipv6Of(witnesses([], [])), ['fd00::3'], 'as any other does');
  t.end();
});

t.test(
  'rebuild: a pod whose traffic the host does not lead has the ENI for itself, if the ENI’s device is away',
  (t) => {
    const told = (routeTable: number | null, away: boolean): boolean | undefined => {
      const asked = { ...witnesses([], []), pods: [{ ...pod, ips: ['10.0.0.6'], routeTable }], isAway: () => away };
      const [lease] = rebuild(asked as unknown as Asked).rebuilt;
      return lease?.sandbox.ownEni;
    };
    for (const table of [null, 254])
      t.equal(told(table, true), true, `table ${table}: ours bear a mark that says so (254)`);
    t.equal(told(254, false), undefined, 'the device is here: a slave of it is in the pod');
    t.equal(told(1001, true), undefined);
    t.end();
  },
);
