import t from 'tap';
import { RESERVATION_VERSION, type Reservation } from '../../src/core/reservation.ts';
import type { Pod } from '../../src/ports/kubernetes.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { checkOwners } from '../../src/simulation/owners.ts';
import { HostDevices } from '../../src/simulation/plugged-kernel.ts';
import { RecordWatch } from '../../src/simulation/record-watch.ts';
import { Witness } from '../../src/simulation/witness.ts';
import type { EniContext } from '../../statecharts/eni-context.ts';
import { leaseOf } from '../daemon/lease-of.ts';

const reservation: Reservation = {
  ...{ version: RESERVATION_VERSION, pod: 'default/web-0', sandbox: 'c-1/eth0' },
  address: { ipv4: '192.168.0.10', ipv6: null },
  ...{ eniId: 'eni-1', untilMs: 60_000, coolUntilMs: 30_000 },
};
const kept = { type: 'put', in: 'reservations', key: '192.168.0.10', value: reservation } as const;
const struckOut = { type: 'del', in: 'reservations', key: '192.168.0.10' } as const;
const podOn = (nodeName: string | null): Pod => ({
  ...{ namespace: 'default', name: 'web-0', uid: 'u-2', phase: nodeName === null ? 'Pending' : 'Running' },
  ...{ nodeName, hostNetwork: false, labels: {}, annotations: {}, podIPs: [], deletionMs: null, ownerKind: null },
});

function watched() {
  const said: string[] = [];
  const report = (_: string, what: string): void => void said.push(what);
  const [devices, apiServer, witness] = [new HostDevices(), new FakeKubernetes(), new Witness(report)];
  const time = { nowMs: 1_000 };
  const watch = new RecordWatch({
    ...{ node: 0, nodeName: 'node-1', devices, apiServer, witness, report },
    nowMs: () => time.nowMs,
  });
  return { said, devices, apiServer, witness, time, watch };
}

t.test('records: what is kept for a pod that waits for its node, or is here, is kept to its end', (t) => {
  const { said, apiServer, time, watch } = watched();
  watch.synced([kept]);
  apiServer.putPod(podOn(null));
  apiServer.putPod(podOn('node-1'));
  watch.synced([struckOut]);
  t.match(said.shift(), /keeps 192.168.0.10 no longer for default\/web-0, 59000 ms too early/);
  watch.synced([kept]);
  time.nowMs = 60_000;
  watch.synced([struckOut]);
  t.same(said, [], 'its time is over');
  t.end();
});

t.test(
  'records: a pod that was elsewhere has nothing kept here, and whoever leases an address takes what was kept',
  (t) => {
    const { said, apiServer, watch } = watched();
    watch.synced([kept]);
    apiServer.putPod(podOn('node-2'));
    apiServer.putPod(podOn('node-1'));
    watch.synced([struckOut]);
    apiServer.putPod(podOn('node-2'));
    watch.synced([kept]);
    watch.synced([struckOut]);
    apiServer.putPod(podOn('node-1'));
    watch.synced([kept]);
    watch.synced([{ type: 'put', in: 'leases', key: 'c-2/eth0', value: leaseOf('c-2') }, struckOut]);
    t.same(said, []);
    t.end();
  },
);

t.test('records: what a sandbox has left on the host is not forgotten before it is gone', (t) => {
  const { said, devices, watch } = watched();
  const { sandbox } = leaseOf('c-1');
  const forgotten = { type: 'del', in: 'leftovers', key: 'c-1/eth0' } as const;
  devices.podMade(sandbox, ['192.168.0.10'], 1_003, true, null);
  watch.synced([forgotten]);
  t.match(said.shift(), /forgets what c-1\/eth0 may have left, and the host has it yet/);
  devices.podDeleted('c-1/eth0', []);
  watch.synced([forgotten]);
  t.same(said, []);
  t.end();
});

t.test('owners: who makes an ENI has it, whether he knows its id or not', (t) => {
  const said: string[] = [];
  const report = (_: string, what: string): void => void said.push(what);
  const eni = (slot: number, eniId: string | null, ip?: string, state = 'idle'): EniContext => {
    const book = ip === undefined ? [] : [{ address: { ipv4: ip, ipv6: null }, state }];
    return { slot, eniId, token: 't', calls: 1, repeated: null, book } as unknown as EniContext; // what is asked for of it
  };
  const made = new Map([['t-1-1', 'eni-a']]);
  checkOwners('node 1', [eni(1, null), eni(2, 'eni-b'), eni(3, null)], made, report);
  t.same(said, []);
  checkOwners('node 1', [eni(1, null), eni(2, 'eni-a')], made, report);
  t.match(said.shift(), /eni-a is eni:1's, and eni:2's/);
  checkOwners('node 1', [eni(1, 'eni-b'), eni(2, 'eni-b')], made, report);
  t.match(said.shift(), /eni-b is eni:1's, and eni:2's/);
  checkOwners('node 1', [eni(1, 'eni-a', '10.0.0.1'), eni(2, 'eni-b', '10.0.0.1', 'leaving')], made, report);
  t.same(said, [], 'what is given back may be with another one');
  checkOwners('node 1', [eni(1, 'eni-a', '10.0.0.1'), eni(2, 'eni-b', '10.0.0.1', 'bound')], made, report);
  t.match(said.shift(), /eni:1 and eni:2 both have 10.0.0.1/);
  t.end();
});
