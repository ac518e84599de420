import '../in-box.ts';

import t from 'tap';
import { openKoffiLibc } from '../../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../../src/adapters/netlink/netlink.ts';
import { prepareBox } from '../../../src/lab/box/inside-box.ts';
import { Guest } from '../../../src/lab/guest/guest.ts';
import { Hypervisor } from '../../../src/lab/hypervisor/hypervisor.ts';
import { NOTHING_REFUSED } from '../../../src/lab/router/refused.ts';
import { Router } from '../../../src/lab/router/router.ts';
import { VpcModel } from '../../../src/vpc/model.ts';
import { defaultSettings } from '../../../src/vpc/settings.ts';
import { defaultTopology } from '../../../src/vpc/topology.ts';

const { runDir } = prepareBox();

t.test('hypervisor: the cloud’s changes become devices and routes', async (t) => {
  let nowMs = 1_000;
  const model = new VpcModel({ topology: defaultTopology('lab.small', 2), nowMs, settings: defaultSettings('fast') });
  const moment = () => ({ nowMs, answerMs: nowMs, transition: null });
  const router = Router.create(`${runDir}/router`);
  const vSwitches = model.truth(nowMs).vSwitches;
  const hypervisor = new Hypervisor(router, (id) => vSwitches.find((one) => one.vSwitchId === id) ?? null);
  model.subscribe(hypervisor.listen);
  const guests: Guest[] = [];
  t.teardown(async () => {
    await Promise.all(guests.map((guest) => guest.remove()));
    router.close();
  });
  for (const { instanceId, name } of model.truth(nowMs).instances) {
    const guest = Guest.create(name, instanceId, `${runDir}/${name}`);
    guests.push(guest);
    const enis = model.truth(nowMs).enis.filter((eni) => eni.instanceId === instanceId);
    hypervisor.admit(
      instanceId,
      guest.netns,
      enis.map((eni) => ({ ...eni, instanceId, primary: eni.type === 'Primary' })),
    );
    await guest.boot(enis.flatMap(({ ipv4 }) => ipv4).map((ip) => ({ ip, prefix: 24, gateway: '192.168.0.253' })));
  }
  const [one, two] = guests;
  if (one === undefined || two === undefined) throw new Error('two guests were made');
  const addressOf = (guest: Guest) =>
    model.truth(nowMs).enis.find((eni) => eni.instanceId === guest.instanceId)?.primaryIp ?? '';
  const netlink = new Netlink(openKoffiLibc(), one.netns.fd);
  t.teardown(() => netlink.close());
  const secondary = () =>
    netlink
      .links()
      .filter(({ name }) => /^eth[1-9]/.test(name))
      .map(({ name, mac, up }) => ({ name, mac, up }));

  const result = await one.echo.probe(addressOf(two), 4_000, 16);
  t.match(result, { reached: true, sourceSeen: addressOf(one), answeredBy: addressOf(two) }, 'nodes reach each other');

  const make = () =>
    model.perform(
      'CreateNetworkInterface',
      {
        vSwitchId: 'vsw-lab-1',
        securityGroupIds: ['sg-lab'],
        primaryIp: null,
        ipv4: { count: 1 },
        ipv6: { count: 0 },
        name: '',
        description: '',
        deleteOnRelease: true,
        sourceDestCheck: false,
        trafficMode: 'Standard',
        queueNumber: null,
        tags: {},
      },
      moment(),
    );
  const attach = (eniId: string) => {
    model.perform('AttachNetworkInterface', { eniId, instanceId: one.instanceId }, moment());
    nowMs += 1_000;
    model.advance(nowMs);
  };
  const [first, second] = [make(), make()];
  t.strictSame(secondary(), [], 'a detached ENI is nowhere');
  attach(first.eniId);
  attach(second.eniId);
  t.strictSame(secondary(), [
    { name: 'eth1', mac: first.mac, up: false },
    { name: 'eth2', mac: second.mac, up: false },
  ]);
  t.strictSame(router.routed().get(first.eniId), first.ipv4, 'both addresses it was made with');
  const { ips } = model.perform('AssignPrivateIpAddresses', { eniId: first.eniId, want: { count: 2 } }, moment());
  t.strictSame(router.routed().get(first.eniId), [...first.ipv4, ...ips], 'assigned ones are routed at once');
  nowMs += 1_000;
  model.perform('UnassignPrivateIpAddresses', { eniId: first.eniId, ips: ips.slice(0, 1) }, moment());
  t.strictSame(router.routed().get(first.eniId), [...first.ipv4, ...ips.slice(1)]);
  nowMs += 1_000;
  model.perform('DetachNetworkInterface', { eniId: first.eniId, instanceId: one.instanceId }, moment());
  nowMs += 1_000;
  model.advance(nowMs);
  t.strictSame(secondary(), [{ name: 'eth2', mac: second.mac, up: false }]);
  t.notOk(router.routed().has(first.eniId));
  attach(make().eniId);
  t.match(
    secondary()
      .map(({ name }) => name)
      .sort(),
    ['eth1', 'eth2'],
    'a free name is taken again',
  );
  t.strictSame(hypervisor.failures, []);
  t.strictSame(router.refused(), NOTHING_REFUSED);
});
