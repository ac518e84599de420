import '../in-box.ts';

import t, { type Test } from 'tap';
import { openKoffiLibc } from '../../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../../src/adapters/netlink/netlink.ts';
import { addAddr } from '../../../src/adapters/netlink/wire/addr.ts';
import { setLink } from '../../../src/adapters/netlink/wire/link.ts';
import { replaceRoute } from '../../../src/adapters/netlink/wire/route.ts';
import { prepareBox } from '../../../src/lab/box/inside-box.ts';
import { Netns } from '../../../src/lab/netns/netns.ts';
import { writeSysctl } from '../../../src/lab/netns/sysctl.ts';
import { EchoSocket } from '../../../src/lab/probe/echo-socket.ts';
import { NOTHING_REFUSED, refusedSince } from '../../../src/lab/router/refused.ts';
import { Router } from '../../../src/lab/router/router.ts';
import { groupsAccept } from '../../../src/vpc/group-policy.ts';

/** A node with two ENIs and a host with one, in either family. */
type Family = {
  name: string;
  family: 4 | 6;
  bits: number;
  first: string;
  second: string;
  host: string;
  gateway: string;
};
const families: Family[] = [
  {
    name: 'IPv4',
    family: 4,
    bits: 32,
    first: '10.0.0.11',
    second: '10.0.0.21',
    host: '10.0.0.99',
    gateway: '10.0.0.253',
  },
  {
    name: 'IPv6',
    family: 6,
    bits: 128,
    first: 'fd00::11',
    second: 'fd00::21',
    host: 'fd00::99',
    gateway: 'fd00::fff7',
  },
];
const { runDir } = prepareBox();
const PROBE_MS = 400;

async function scene(t: Test, { family, bits, first, second, host, gateway }: Family) {
  let nowMs = 1_000_000;
  const router = Router.create(`${runDir}/router${family}`, () => nowMs);
  const node = Netns.create(`${runDir}/node${family}`);
  const far = Netns.create(`${runDir}/far${family}`);
  // Link-local addresses at once: neighbour requests need one.
  for (const guest of [node, far]) {
    guest.run(() => {
      for (const group of ['all', 'default']) writeSysctl(`net/ipv6/conf/${group}/accept_dad`, '0');
    });
  }
  const plug = (eniId: string, last: number, guest: Netns, device: string, ip: string) => {
    router.plug({ eniId, mac: `00:16:3e:00:00:0${last}`, gateways: [gateway] }, guest, device);
    router.assign(eniId, ip);
  };
  plug('eni-1', 1, node, 'eth1', first);
  plug('eni-2', 2, node, 'eth2', second);
  plug('eni-f', 3, far, 'eth0', host);
  const nodeNetlink = new Netlink(openKoffiLibc(), node.fd);
  const farNetlink = new Netlink(openKoffiLibc(), far.fd);
  const index = (netlink: Netlink, name: string) => netlink.linkByName(name)?.index ?? 0;
  for (const [netlink, names] of [
    [nodeNetlink, ['lo', 'eth1', 'eth2']],
    [farNetlink, ['lo', 'eth0']],
  ] as const) {
    netlink.apply(names.map((name) => setLink(index(netlink, name), { up: true })));
  }
  const via = (netlink: Netlink, device: string, ip: string) =>
    replaceRoute({
      family,
      destination: { ip, prefix: bits },
      table: 254,
      gateway,
      linkIndex: index(netlink, device),
      onLink: true,
    });
  farNetlink.apply([
    addAddr({ linkIndex: index(farNetlink, 'eth0'), ip: host, prefix: bits, noDad: true }),
    via(farNetlink, 'eth0', first),
  ]);
  nodeNetlink.apply([
    addAddr({ linkIndex: index(nodeNetlink, 'eth1'), ip: first, prefix: bits, noDad: true }),
    via(nodeNetlink, 'eth1', host),
  ]);
  const near = await EchoSocket.open(node, [family]);
  const away = await EchoSocket.open(far, [family]);
  t.teardown(async () => {
    await near.close();
    await away.close();
    for (const netlink of [nodeNetlink, farNetlink]) netlink.close();
    router.close();
    node.remove();
    far.remove();
  });
  // The kernel may take a second to bring a link up: from here on it is.
  t.match(await near.probe(host, 4_000, 16), { reached: true }, 'the scene is set');
  return {
    router,
    near,
    /** The node's only address is on eth1, and stays the source whichever way its packets leave. */
    leaveBy: (device: string) => nodeNetlink.apply([via(nodeNetlink, device, host)]),
    pass(ms: number) {
      nowMs += ms;
    },
    devices: () => nodeNetlink.links().map((link) => `${link.name} ${link.mac}`),
  };
}

for (const one of families) {
  t.test(`router: ${one.name} from the right ENI arrives with its source, and nothing is counted`, async (t) => {
    const { router, near, devices } = await scene(t, one);
    t.match(devices(), ['lo 00:00:00:00:00:00', 'eth1 00:16:3e:00:00:01', 'eth2 00:16:3e:00:00:02']);
    const result = await near.probe(one.host);
    t.match(result, { reached: true, sourceSeen: one.first, answeredBy: one.host });
    t.strictSame(router.refused(), NOTHING_REFUSED);
  });

  t.test(`router: ${one.name} with another ENI’s source is a routing fault, counted and not delivered`, async (t) => {
    const { router, near, leaveBy } = await scene(t, one);
    leaveBy('eth2');
    t.match(await near.probe(one.host, PROBE_MS, 2), { reached: false });
    t.strictSame(router.refused(), { ...NOTHING_REFUSED, routingFault: 2 });
    leaveBy('eth1');
    t.match(await near.probe(one.host), { reached: true });
    t.equal(router.refused().routingFault, 2, 'and the right way counts nothing further');
  });

  t.test(`router: ${one.name} with a just-released source is counted apart, later as unknown`, async (t) => {
    const { router, near, pass } = await scene(t, one);
    router.release('eni-1', one.first);
    t.match(await near.probe(one.host, PROBE_MS, 1), { reached: false });
    t.strictSame(router.refused(), { ...NOTHING_REFUSED, justReleased: 1 });
    pass(60_001);
    const before = router.refused();
    t.match(await near.probe(one.host, PROBE_MS, 1), { reached: false });
    t.strictSame(refusedSince(router.refused(), before), { ...NOTHING_REFUSED, unknownSource: 1 });
    router.assign('eni-1', one.first);
    t.match(await near.probe(one.host), { reached: true, sourceSeen: one.first }, 'and works again once assigned');
  });

  t.test(`router: ${one.name} to an address that nobody has is counted by itself`, async (t) => {
    const { router, near } = await scene(t, one);
    router.release('eni-f', one.host);
    t.match(await near.probe(one.host, PROBE_MS, 1), { reached: false });
    t.strictSame(router.refused(), { ...NOTHING_REFUSED, noDestination: 1 });
  });

  t.test(`router: ${one.name}: what security groups forbid is kept from passing, and counted`, async (t) => {
    const { router, near } = await scene(t, one);
    const groups = [
      { securityGroupId: 'sg-n', type: 'normal' as const },
      { securityGroupId: 'sg-e', type: 'enterprise' as const },
      { securityGroupId: 'sg-open', type: 'enterprise' as const, accepts: ['sg-e', 'sg-n'] },
    ];
    router.enforce((from, to) =>
      groupsAccept(
        from,
        groups.filter((group) => to.includes(group.securityGroupId)),
      ),
    );
    const put = (first: string, host: string) => {
      router.setGroups('eni-1', [first]);
      router.setGroups('eni-f', [host]);
    };
    const reaches = async () => (await near.probe(one.host, PROBE_MS, 1)).reached;
    put('sg-n', 'sg-n');
    t.equal(await reaches(), true, 'members of a normal group reach each other');
    t.equal(router.keptByGroups(), 0);
    put('sg-e', 'sg-e');
    t.equal(await reaches(), false, 'those of an enterprise group do not');
    t.equal(router.keptByGroups(), 1);
    put('sg-n', 'sg-e');
    t.equal(await reaches(), false, 'nor does anybody from elsewhere');
    put('sg-open', 'sg-open');
    t.equal(await reaches(), false);
    for (const eniId of ['eni-1', 'eni-f']) router.setGroups(eniId, ['sg-e', 'sg-open']);
    t.equal(await reaches(), true, 'unless a rule of the group says so, both ways');
    t.strictSame(router.refused(), NOTHING_REFUSED, 'which is no routing fault');
    router.release('eni-f', one.host);
    router.assign('eni-f', one.host);
    put('sg-e', 'sg-e');
    router.unplug('eni-2');
    t.equal(await reaches(), false, 'and it holds for addresses that come later');
  });

  t.test(`router: ${one.name}: an unplugged ENI takes its device, routes and rules along`, async (t) => {
    const { router, devices } = await scene(t, one);
    const netlink = new Netlink(openKoffiLibc(), router.netns.fd);
    t.teardown(() => netlink.close());
    const known = () => netlink.rules(one.family).filter(({ priority }) => priority < 32_000 && priority > 0).length;
    const rules = known();
    router.unplug('eni-2');
    t.match(devices(), ['lo 00:00:00:00:00:00', 'eth1 00:16:3e:00:00:01']);
    // Its two source rules and the one that catches the rest go; the one for the just-released address comes.
    t.equal(known(), rules - 2);
    t.strictSame([...router.routed().keys()], ['eni-1', 'eni-f']);
    t.notOk(netlink.routes(one.family, 254).some(({ destination }) => destination?.ip === one.second));
  });
}
