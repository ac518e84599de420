/** What of a predecessor’s records is believed. The whole way, with a real daemon and kernel: test/cases/p15-f10-in-and-out-of-terway.test.ts. */
import t from 'tap';
import { inherit } from '../../actors/inherit.ts';
import { takeOver } from '../../actors/takeover.ts';
import type { CloudEni } from '../../src/core/eni.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import type { TerwayRecord } from '../../src/core/terway-record.ts';
import type { HostPod } from '../../src/ports/host.ts';
import type { Pod } from '../../src/ports/kubernetes.ts';
import type { Inheritance } from '../../src/ports/predecessor.ts';

const MAC = '00:16:3e:00:00:01';
const eni = {
  eniId: 'eni-1',
  mac: MAC,
  ipv4: ['192.168.0.5', '192.168.0.6'],
  ipv6: ['2001:db8::5'],
} as unknown as CloudEni;

const record = (name: string, ipv4: string, more: Partial<TerwayRecord> = {}): TerwayRecord => ({
  ...{ pod: { namespace: 'default', name, uid: null }, containerId: `c-${name}`, netns: `/run/netns/${name}` },
  ...{ kind: 'eniIp', eni: { mac: MAC, eniId: 'eni-1' }, ipv4, ipv6: null, reserveMs: 0, ...more },
});

const device = (name: string, ip: string): HostPod => ({
  ...{ device: hostVethName({ namespace: 'default', name }, 'eth0'), ips: [ip], routeTable: 1003, sandbox: null },
});

const podAt = (name: string, ip: string): Pod =>
  ({ namespace: 'default', name, uid: `uid-${name}`, podIPs: [ip] }) as unknown as Pod;

const taken = (
  inheritance: Partial<Inheritance>,
  pods: readonly HostPod[],
  { used = [], devices = [MAC] }: { used?: readonly string[]; devices?: readonly string[] } = {},
) => {
  const sets = { taken: new Set(used), devices: new Set(devices) };
  return takeOver({ records: [], pods: [], ...inheritance }, { enis: [eni], pods, ...sets, nowMs: 1_000 });
};

t.test('takeover: record, device, route and cloud have to agree', async (t) => {
  const [pod] = taken({ records: [record('web-0', '192.168.0.5')] }, [device('web-0', '192.168.0.5')]).pods;
  t.match(pod?.sandbox, { containerId: 'c-web-0', ifName: 'eth0', netns: '/run/netns/web-0', pod: { name: 'web-0' } });
  const doubted: readonly [string, TerwayRecord, HostPod][] = [
    ['a device of another name', record('web-0', '192.168.0.5'), device('web-1', '192.168.0.5')],
    ['a route to another address', record('web-0', '192.168.0.5'), device('web-0', '192.168.0.6')],
    ['an address that the cloud has not', record('web-0', '192.168.0.9'), device('web-0', '192.168.0.9')],
    [
      'an address on another ENI',
      record('web-0', '192.168.0.5', { eni: { mac: '00:16:3e:00:00:02', eniId: null } }),
      device('web-0', '192.168.0.5'),
    ],
    ['the controller’s', record('web-0', '192.168.0.5', { kind: 'podEni' }), device('web-0', '192.168.0.5')],
  ];
  for (const [what, told, there] of doubted) t.equal(taken({ records: [told] }, [there]).pods[0]?.sandbox, null, what);
});

t.test(
  'takeover: a pod without a container id has a name of ours, and the uid that the API server tells with its address',
  async (t) => {
    const records = [
      record('web-0', '192.168.0.5', { containerId: '' }),
      record('web-1', '192.168.0.6', { containerId: '' }),
    ];
    const there = [device('web-0', '192.168.0.5'), device('web-1', '192.168.0.6')];
    const { pods } = taken({ records, pods: [podAt('web-0', '192.168.0.5'), podAt('web-1', '192.168.0.77')] }, there);
    t.match(pods, [
      { sandbox: { containerId: 'unnamed:default.web-0', pod: { uid: 'uid-web-0' } } },
      { sandbox: { containerId: 'unnamed:default.web-1', pod: { uid: null } } },
    ]);
  },
);

t.test(
  'takeover: a pod has an ENI for itself when the record says so and the ENI’s device is not on the host',
  async (t) => {
    const own = (more: Partial<TerwayRecord> = {}): TerwayRecord =>
      record('own-0', '192.168.0.5', { kind: 'eni', ipv4: null, eni: { mac: MAC, eniId: null }, ...more });
    const there = { ...device('own-0', '192.168.0.5'), routeTable: null };
    const told = (records: readonly TerwayRecord[], pod: HostPod, devices: readonly string[] = []) =>
      taken({ records, pods: [podAt('own-0', '192.168.0.5')] }, [pod], { devices }).pods[0];
    t.match(told([own()], there), { ownEni: true, sandbox: { containerId: 'c-own-0', pod: { uid: 'uid-own-0' } } });
    t.match(told([own({ containerId: '', netns: '' })], there), { sandbox: { containerId: 'unnamed:default.own-0' } });
    t.match(told([own({ ipv4: '192.168.0.5' })], there), { ownEni: true });
    t.equal(told([own({ reserveMs: 300_000 })], there)?.reserveMs, undefined, 'nothing is kept for it');
    const doubted: readonly [string, HostPod | undefined][] = [
      ['the device is on the host', told([own()], there, [MAC])],
      ['a rule leads what it sends', told([own()], { ...there, routeTable: 1003 })],
      [
        'of another pod',
        told([own()], { ...there, device: hostVethName({ namespace: 'default', name: 'x' }, 'eth0') }),
      ],
      ['at an address that the ENI has not', told([own()], { ...there, ips: ['192.168.0.9'] })],
      ['at another address than was written down', told([own({ ipv4: '192.168.0.6' })], there)],
      ['an ENI that is not here', told([own({ eni: { mac: '00:16:3e:00:00:02', eniId: null } })], there)],
      ['the controller’s', told([own({ kind: 'podEni' })], there)],
    ];
    for (const [what, pod] of doubted) t.strictSame([pod?.sandbox, pod?.ownEni], [null, undefined], what);
  },
);

t.test('takeover: an address is kept for a pod without a sandbox, if nobody uses it by anybody’s word', async (t) => {
  const records = [record('web-0', '192.168.0.5', { reserveMs: 300_000 })];
  t.match(taken({ records }, []).reservations, [
    {
      pod: 'default/web-0',
      sandbox: 'c-web-0/eth0',
      address: { ipv4: '192.168.0.5' },
      eniId: 'eni-1',
      untilMs: 301_000,
    },
  ]);
  t.strictSame(taken({ records: [record('web-0', '192.168.0.5')] }, []).reservations, [], 'of a Deployment none is');
  t.strictSame(taken({ records }, [device('other', '192.168.0.5')]).reservations, [], 'the host has it');
  t.strictSame(taken({ records, pods: [podAt('other', '192.168.0.5')] }, []).reservations, [], 'the API server has it');
  t.strictSame(taken({ records, pods: null }, []).reservations, [], 'the API server does not tell');
  t.strictSame(taken({ records }, [], { used: ['192.168.0.5'] }).reservations, [], 'our store has it');
});

t.test('inherit: nobody is asked when all is known, and a file that cannot be read changes nothing', async (t) => {
  const marked = {
    ...device('web-0', '192.168.0.5'),
    sandbox: { containerId: 'c', ifName: 'eth0', pod: record('web-0', '').pod },
  };
  const logged: string[] = [];
  const tell = (_: object, message: string): void => void logged.push(message);
  const log = { debug: tell, info: tell, warn: tell, error: tell };
  let asked = 0;
  const hands = (answer: () => Promise<Inheritance | null>) => ({
    log,
    predecessor: {
      inheritance: () => {
        asked += 1;
        return answer();
      },
    },
  });
  const of = (pods: readonly HostPod[], whole: boolean) => ({
    enis: [eni],
    pods,
    taken: new Set<string>(),
    devices: new Set<string>(),
    nowMs: 0,
    whole,
  });
  const never = new AbortController().signal;
  const kept = async () => ({ records: [record('web-1', '192.168.0.6', { reserveMs: 1_000 })], pods: [] });
  t.strictSame(await inherit(hands(kept), of([marked], true), never), { pods: [marked], reservations: [] });
  t.equal(asked, 0);
  const broken = hands(() => Promise.reject(new EnactorError('store', 'it is torn')));
  const there = [device('web-0', '192.168.0.5')];
  t.strictSame(await inherit(broken, of(there, false), never), { pods: there, reservations: [] });
  t.match(logged.at(-1), /addresses are held back/);
  t.equal((await inherit(hands(kept), of([], false), never)).reservations.length, 1);
  t.equal(
    (await inherit(hands(kept), of(there, true), never)).reservations.length,
    0,
    'a whole store knows what is kept',
  );
});
