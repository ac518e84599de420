import { writeFileSync } from 'node:fs';
import t from 'tap';
import { HostKernel } from '../../src/adapters/datapath/host-kernel.ts';
import { Life } from '../../src/simulation/life.ts';
import { HostDevices, pluggedKernel } from '../../src/simulation/plugged-kernel.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { runningClock } from '../simulation/running-clock.ts';
import { kernelContract } from './kernel.ts';

kernelContract(
  t,
  'host kernel',
  async (t) => {
    const host = new TestNamespace(t, 'host');
    host.run(() => writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')); // as on any node
    let made = 0;
    return {
      newKernel: () =>
        new HostKernel(libc, { eniKinds: ['device', 'veth'], pollMs: 20, watchMs: 10, replyPaths: false }),
      plug: async (mac) => {
        made += 1;
        const name = `eth${made}`;
        host.ip('link', 'add', name, 'address', mac, 'type', 'veth', 'peer', 'name', `${name}far`);
        return Number(/^(\d+):/.exec(host.ip('-o', 'link', 'show', name))?.[1]);
      },
      spoil: (_, table) => void host.ip('route', 'flush', 'table', `${table}`),
      on: (call) => host.run(call),
    };
  },
  cannotMakeNamespaces(),
);

kernelContract(t, 'plugged kernel', async (t) => {
  const clock = runningClock(t);
  const devices = new HostDevices();
  let ifindex = 1;
  return {
    newKernel: () => pluggedKernel({ devices, life: new Life(1, clock), delayMs: () => 3 }),
    plug: async (mac) => {
      devices.plug(mac);
      ifindex += 1;
      return ifindex;
    },
    spoil: () => void devices.spoil('eniRoute', 0),
    on: (call) => call(),
  };
});
