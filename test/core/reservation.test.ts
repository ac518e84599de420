import t from 'tap';
import type { Lease } from '../../src/core/lease.ts';
import { parseReservation, reservationOf, reserveMsOf } from '../../src/core/reservation.ts';

const rules = { reserveMs: 300, statefulKinds: ['cloneset'] };
const keeps = (ownerKind: string | null, annotation?: string) =>
  reserveMsOf(
    { ownerKind, annotations: annotation === undefined ? {} : { 'k8s.aliyun.com/pod-ip-reservation': annotation } },
    rules,
  );

t.test('reservation: pods of StatefulSets, of kinds that are named, and those that ask for it', async (t) => {
  t.equal(keeps('StatefulSet'), 300);
  t.equal(keeps('CloneSet'), 300);
  t.equal(keeps('ReplicaSet'), 0);
  t.equal(keeps(null), 0);
  t.equal(keeps('ReplicaSet', 'true'), 300);
  t.equal(keeps('ReplicaSet', 'yes'), 0, 'Go knows no yes');
});

t.test('reservation: it lasts at least as long as the address rests, and its record is read back', async (t) => {
  const sandbox = {
    containerId: 'c',
    ifName: 'eth0',
    netns: '',
    network: '',
    pod: { namespace: 'd', name: 'p', uid: 'u' },
  };
  const grant = { address: { ipv4: '10.0.0.5', ipv6: null }, eni: { eniId: 'eni-1' } } as Lease['grant'];
  const lease: Lease = { version: 1, sandbox, grant, boundAtMs: 0, reserveMs: 300 };
  const kept = reservationOf(lease, 1_000, 1_030);
  t.match(kept, { pod: 'd/p', sandbox: 'c/eth0', eniId: 'eni-1', untilMs: 1_300, coolUntilMs: 1_030 });
  t.equal(reservationOf(lease, 1_000, 2_000)?.untilMs, 2_000);
  const { reserveMs: _, ...ordinary } = lease;
  t.equal(reservationOf(ordinary, 1_000, 1_030), null);
  t.strictSame(parseReservation(JSON.parse(JSON.stringify(kept))), kept);
  for (const broken of [null, 1, {}, { ...kept, version: 2 }, { ...kept, pod: 1 }, { ...kept, address: null }])
    t.equal(parseReservation(broken), null);
});
