/**
 * Pods with ipvlan devices where the kernel may have none: chosen by the configuration, and a pair with a word about it where it cannot be. Packets over
 * ipvlan are the virtual machine's to try (test/vm).
 */
import { test } from 'tap';
import { makesIpvlan } from '../../src/adapters/datapath/ipvlan-network.ts';
import { DIRECT_GROUP, sandboxDevice } from '../../src/adapters/datapath/sandbox-device.ts';
import { postOverNode } from '../../src/adapters/http/post-node.ts';
import { parseConfiguration } from '../../src/plugin/configuration.ts';
import { DEFAULT_CALL_LIMITS } from '../../src/plugin/daemon-calls.ts';
import { hostDatapath } from '../../src/plugin/host-datapath.ts';
import { wantedFrom } from '../../src/plugin/net-conf.ts';
import type { PodDatapath, PodWanted } from '../../src/plugin/pod-datapath.ts';
import { runPlugin } from '../../src/plugin/run-plugin.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { leadOut, pluginBench } from './plugin-process.ts';

const MAC = '00:16:3e:00:00:07';
const sandboxAt = (netns: string) => ({
  ...{ containerId: 'sandbox-1', ifName: 'eth0', netns, network: 'net' },
  pod: { namespace: 'default', name: 'web-0', uid: null },
});
const configuration = (more: object) =>
  parseConfiguration(Buffer.from(JSON.stringify({ cniVersion: '1.0.0', name: 'net', type: 'enactor-cni', ...more })));

test('ipvlan: Terway’s key chooses it, in any case, for addresses of shared ENIs alone', (t) => {
  const reply = (type: number, table = 1007) => ({
    IPType: type,
    NetConfs: [
      {
        BasicInfo: {
          PodIP: { IPv4: '192.168.0.10', IPv6: 'fd00::10' },
          PodCIDR: { IPv4: '192.168.0.0/24', IPv6: 'fd00::/64' },
          ServiceCIDR: { IPv4: '172.21.0.0/20' },
        },
        ENIInfo: { MAC, RouteTable: table, GatewayIP: { IPv4: '192.168.0.253', IPv6: 'fd00::fd' } },
      },
    ],
  });
  const kind = (type: number, conf: object, table?: number) =>
    wantedFrom(reply(type, table), sandboxAt('/run/netns/p'), configuration(conf)).connection.kind;
  for (const word of ['IPVlan', 'ipvlan', 'IPVLAN']) t.equal(kind(2, { eniip_virtual_type: word }), 'ipvlan');
  for (const word of ['Veth', 'veth', '', undefined]) t.equal(kind(2, { eniip_virtual_type: word }), 'veth');
  t.equal(kind(1, { eniip_virtual_type: 'IPVlan' }), 'exclusive', 'an ENI of its own is one');
  t.equal(kind(0, { eniip_virtual_type: 'IPVlan' }, 254), 'veth', 'an address of the node’s prefix is on no ENI');
  t.throws(() => configuration({ eniip_virtual_type: 'datapathv2' }), { code: 7, message: /Veth and IPVlan/ });
  t.match(wantedFrom(reply(2), sandboxAt('p'), configuration({ eniip_virtual_type: 'IPVlan' })).connection, {
    mac: MAC,
    subnets: ['192.168.0.0/24', 'fd00::/64'],
    throughHost: ['172.21.0.0/20', '169.254.20.10/32'],
  });
  t.end();
});

test('ipvlan: a kernel without it makes a pair, which is whole by CHECK’s word and goes with DEL', {
  skip: cannotMakeNamespaces(),
}, (t) => {
  const host = new TestNamespace(t, 'host');
  const inPod = new TestNamespace(t, 'pod');
  host.ip('link', 'add', 'eth1', 'address', MAC, 'type', 'veth', 'peer', 'name', 'eth1far');
  for (const device of ['eth1', 'eth1far', 'lo']) host.ip('link', 'set', device, 'up');
  leadOut(host, 'eth1');
  const sandbox = sandboxAt(inPod.path);
  const wanted: PodWanted = {
    ...{ sandbox, ips: ['192.168.0.10', 'fd00::10'], routeTable: 1007, mtu: 1400, defaultRoute: true },
    connection: {
      ...{ kind: 'ipvlan', mac: MAC, gateways: ['192.168.0.253', 'fd00::fd'] },
      ...{ subnets: ['192.168.0.0/24', 'fd00::/64'], throughHost: ['172.21.0.0/20', 'fd00:21::/112'] },
    },
  };
  const datapath = hostDatapath(libc);
  const within = <T>(work: (pod: ReturnType<PodDatapath['open']>) => T): T =>
    host.run(() => {
      const pod = datapath.open(inPod.path);
      try {
        return work(pod);
      } finally {
        pod.close();
      }
    });
  const made = within((pod) => pod.attach(wanted));
  const has = host.run(() => makesIpvlan(libc));
  const group = host.ip('-d', 'link', 'show', sandboxDevice(sandbox).hostNames[0]);
  if (has) {
    t.equal(made.vethInstead, undefined);
    t.match(inPod.ip('-d', 'link', 'show', 'eth0'), /ipvlan +mode l2/);
    t.match(group, new RegExp(`group ${DIRECT_GROUP}`));
  } else {
    t.match(made.vethInstead, /the kernel makes no ipvlan devices/);
    t.match(inPod.ip('-d', 'link', 'show', 'eth0'), /veth/);
    t.match(
      host.ip('rule'),
      /from 192\.168\.0\.10 lookup 1007/,
      'its traffic is led as that of any other behind a pair',
    );
    t.match(group, /group default/);
  }
  t.equal(
    within((pod) => pod.verify(wanted)),
    null,
  );
  inPod.ip('addr', 'del', '192.168.0.10', 'dev', 'eth0');
  t.match(
    within((pod) => pod.verify(wanted)),
    /address 192\.168\.0\.10/,
  );
  host.run(() => datapath.detach(sandbox, { ips: wanted.ips, macs: [] }));
  t.throws(() => inPod.ip('link', 'show', 'eth0'));
  t.notMatch(host.ip('link'), /cali/);
  t.notMatch(host.ip('rule'), /192\.168\.0\.10/);
  t.end();
});

test('ipvlan: a pod that got a pair instead, and its node, are told what is no longer enforced', async (t) => {
  const bench = await pluginBench(t, null);
  const add = (made: object) =>
    runPlugin({
      env: bench.env('ADD', { CNI_NETNS: '/run/netns/p' }),
      readStdin: () => Buffer.from(bench.conf()),
      post: postOverNode,
      terway: () => Promise.reject(new Error('nobody speaks gRPC here')),
      datapath: () => ({
        gateway: { 4: '169.254.1.1', 6: 'fe80::1' },
        isOwnNetns: () => false,
        terwayAddresses: () => [],
        open: () => ({
          hasInterface: () => false,
          isMade: () => false,
          attach: () => ({ hostName: 'cali1', hostMac: 'aa', podMac: 'bb', ...made }),
          verify: () => null,
          close: () => {},
        }),
        detach: () => {},
      }),
      nowMs: Date.now,
      signal: new AbortController().signal,
      limits: DEFAULT_CALL_LIMITS,
    });
  const events = () => bench.daemon.calls.filter(({ method }) => method === 'RecordEvent').map(({ body }) => body);
  t.equal((await add({})).exitCode, 0);
  t.strictSame(events(), []);
  t.equal((await add({ vethInstead: 'no ipvlan here' })).exitCode, 0);
  t.match(
    events().sort((a, b) => Number(a.EventTarget) - Number(b.EventTarget)),
    [0, 1].map((EventTarget) => ({
      EventTarget,
      Reason: 'VirtualModeChanged',
      Message: /^no ipvlan here: .*no longer enforced/,
    })),
  );
});
