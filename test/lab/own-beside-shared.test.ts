/**
 * VPCENI on a node whose other pods share their ENIs: a pod that asks by annotation, or by the resource `aliyun/eni`, has an ENI for itself, with its
 * device in the pod; the others notice nothing. Each mode through {pod, ClusterIP, node, internet}, a daemon that is killed, ENIs that come back.
 */
import './in-box.ts';

import t, { type Test } from 'tap';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { OWN_ENI_ANNOTATION, OWN_ENI_RESOURCE } from '../../src/core/own-eni.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { pathsOf } from '../../src/lab/checks/path-plan.ts';
import { tryPaths } from '../../src/lab/checks/try-paths.ts';
import { INTERNET, NAT_GATEWAY, OUTSIDE, openEdge } from '../../src/lab/edge/edge.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { ask } from '../../src/lab/probe/ask.ts';
import { ECHO_PORT } from '../../src/lab/probe/echo-socket.ts';
import { KubeProxy } from '../../src/lab/services/kube-proxy.ts';
import { missingForServices } from '../../src/lab/services/needs.ts';
import { publishService, SERVICE_PORT, syncEndpointSlices } from '../../src/lab/services/publish-service.ts';

t.setTimeout(150_000);
const missing = missingForServices();
const SERVICE_CIDRS = { 4: '172.21.0.0/20', 6: 'fd00:21::/112' } as const;
const POD_CIDRS = { 4: '192.168.0.0/16', 6: '2001:db8:0:100::/56' } as const;
/** Backend on the other node; backend that has an ENI of its own; backend that shares one. */
const SERVICES = {
  far: { clusterIps: ['172.21.0.10', 'fd00:21::10'], nodePort: 30_801 },
  own: { clusterIps: ['172.21.0.11', 'fd00:21::11'], nodePort: 30_802 },
  shared: { clusterIps: ['172.21.0.12', 'fd00:21::12'], nodePort: 30_803 },
} as const;
/** Longer than the cool-down. */
const REST_MS = 500;
const OWN = { annotations: { [OWN_ENI_ANNOTATION]: 'true' } };

t.test(
  'a shared node: pods with an ENI of their own beside those that share one',
  { skip: missing !== null && `NOT RUN: ${missing}` },
  async (t) => {
    const config = {
      ip_stack: 'dual',
      cool_down: '200ms',
      max_pool_size: 3,
      min_pool_size: 0,
      service_cidr: Object.values(SERVICE_CIDRS).join(),
    };
    const lab = await startLab({ topology: labTopology(2, 'ecs.g7.large', true), config });
    try {
      await openEdge(lab);
      await lived(t, lab);
    } finally {
      t.strictSame(await lab.stop(), [], 'nothing is left behind');
    }
  },
);

const created = (lab: Lab): number =>
  lab.cloud.live.gateway.ledger
    .read(0, null)
    .filter(({ api, outcome }) => api === 'CreateNetworkInterface' && outcome === 'ok').length;

const eniOf = (lab: Lab, pod: string) =>
  lab.truth().enis.find(({ ipv4 }) => ipv4.includes(lab.pods.get(pod)?.ips[0] ?? 'none'));

/** MACs of the devices in a pod, or on a node. */
function macsIn(lab: Lab, place: string): readonly (string | null)[] {
  const netns = lab.netnsOf(place);
  if (netns === null) throw new Error(`no ${place}`);
  const netlink = new Netlink(openKoffiLibc(), netns.fd);
  try {
    return netlink.links().map(({ mac }) => mac);
  } finally {
    netlink.close();
  }
}

/** Names of those that have such an event. */
function toldOf(lab: Lab, reason: string): readonly string[] {
  const resource = resourceNamed('events');
  if (resource === null) throw new Error('the API server of the lab knows no events');
  const events = lab.api.store.list(resource, null) as readonly {
    reason?: string;
    involvedObject?: { name?: string };
  }[];
  return events
    .filter((event) => event.reason === reason)
    .map(({ involvedObject }) => involvedObject?.name ?? '')
    .sort();
}

async function lived(t: Test, lab: Lab): Promise<void> {
  await Promise.all([
    lab.addPod('shared', 'node-1', { labels: { pod: 'shared' } }),
    lab.addPod('shared-2', 'node-1'),
    lab.addPod('own', 'node-1', { labels: { pod: 'own' }, ...OWN }),
    lab.addPod('far', 'node-2', { labels: { pod: 'far' } }),
    lab.addPod('far-own', 'node-2', { resources: { [OWN_ENI_RESOURCE]: '1' } }),
  ]);
  for (const name of ['own', 'far-own']) {
    const eni = eniOf(lab, name);
    t.equal(eni?.ipv4.length, 1, `${name}: nobody else has an address of its ENI`);
    t.ok(macsIn(lab, name).includes(eni?.mac ?? ''), `${name}: the ENI's device is in the pod`);
    t.notOk(macsIn(lab, name === 'own' ? 'node-1' : 'node-2').includes(eni?.mac ?? ''), `${name}: and not on the node`);
  }
  t.equal(eniOf(lab, 'shared')?.eniId, eniOf(lab, 'shared-2')?.eniId);
  t.strictSame(toldOf(lab, 'NetworkPolicyNotEnforced'), ['far-own', 'own'], 'who is told that policy is not enforced');
  const bad = async () => (await tryPaths(lab, pathsOf(lab))).filter(({ worked }) => !worked);
  t.strictSame(await bad(), [], 'every path, each seen as itself');
  await services(t, lab);

  const [node] = lab.nodes;
  if (node === undefined) throw new Error('no node');
  node.daemon?.signal('SIGKILL');
  await node.daemon?.ended;
  node.startDaemon();
  await node.whenServing(30_000);
  t.strictSame(await bad(), [], 'after kill -9 of the daemon');
  t.equal((await node.report())?.leases.length, 3);

  const before = created(lab);
  const { eniId } = eniOf(lab, 'own') ?? {};
  await lab.removePod('own');
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  await lab.addPod('again', 'node-1', OWN);
  t.equal(eniOf(lab, 'again')?.eniId, eniId, 'the ENI that came back is the next one’s');
  t.strictSame(await bad(), [], 'on the ENI that came back');
  await lab.removePod('again');
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  await Promise.all(['one', 'two', 'three', 'four', 'five'].map((name) => lab.addPod(name, 'node-1')));
  t.ok(
    ['one', 'two', 'three', 'four', 'five'].some((name) => eniOf(lab, name)?.eniId === eniId),
    'or of pods that share it',
  );
  t.strictSame(await bad(), [], 'and works as any other');
  t.equal(created(lab), before, 'no ENI was made for them');
  t.strictSame(lab.refused(), { routingFault: 0, justReleased: 0, unknownSource: 0, noDestination: 0 });
}

async function services(t: Test, lab: Lab): Promise<void> {
  for (const [name, { clusterIps, nodePort }] of Object.entries(SERVICES))
    publishService(lab.api, { name, selector: { pod: name }, clusterIps, nodePort });
  syncEndpointSlices(lab.api);
  const proxies = lab.nodes.map(
    ({ name, guest }) =>
      new KubeProxy(guest.netns, lab.api, 'iptables', {
        name,
        ips: guest.ips,
        local: { by: 'clusterCidr', cidrs: POD_CIDRS },
        serviceCidrs: SERVICE_CIDRS,
      }),
  );
  await Promise.all(proxies.map((proxy) => proxy.sync()));
  const seen = async (from: string, address: string, port: number = ECHO_PORT) => {
    const netns = lab.netnsOf(from);
    if (netns === null) throw new Error(`no ${from}`);
    const result = await ask(netns, { address, port, timeoutMs: 4_000, attempts: 4 });
    return result.reached ? result.sourceSeen : result.why;
  };
  for (const family of [4, 6] as const) {
    const at = (name: string) => lab.place(name).ips.find((ip) => ip.includes(':') === (family === 6)) ?? '';
    const service = (name: keyof typeof SERVICES) => SERVICES[name].clusterIps[family === 4 ? 0 : 1];
    // What a pod with an ENI of its own asks of a service is the node's; one that shares its ENI sends to such a pod by the VPC.
    const rows = [
      ['shared', 'far', at('shared')],
      ['shared', 'own', at('shared')],
      ['shared', 'shared', at('node-1')],
      ['own', 'far', at('node-1')],
      ['own', 'shared', at('node-1')],
      ['own', 'own', at('node-1')],
      ['far', 'own', at('far')],
      ['far', 'shared', at('far')],
    ] as const;
    const all = await Promise.all(rows.map(([from, name]) => seen(from, service(name), SERVICE_PORT)));
    for (const [index, [from, name, wanted]] of rows.entries())
      t.equal(all[index], wanted, `IPv${family}: ${from} to the service ${name}`);
    const ports = await Promise.all(
      (['own', 'shared'] as const).flatMap((name) =>
        ['node-1', 'node-2'].map(async (node) => [node, await seen(OUTSIDE, at(node), SERVICES[name].nodePort)]),
      ),
    );
    for (const [node = '', source] of ports) t.equal(source, at(node), `IPv${family}: NodePort of ${node}`);
  }
  const internet = lab.place(INTERNET).ips[0] ?? '';
  const gateway = lab.place(NAT_GATEWAY).ips[0];
  for (const from of ['shared', 'own']) t.equal(await seen(from, internet), gateway, `${from} to the internet`);
  await Promise.all(proxies.map((proxy) => proxy.remove()));
}
