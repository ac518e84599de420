/**
 * Mode ENIOnly (VPCENI): each pod has an ENI of its own, whose device is in the pod. Services, the node and what comes through the node take the
 * pair (F1); the device returns with the DEL, and serves the next pod.
 */
import './in-box.ts';

import t, { type Test } from 'tap';
import { pathsOf } from '../../src/lab/checks/path-plan.ts';
import { tryPaths } from '../../src/lab/checks/try-paths.ts';
import { OUTSIDE, openEdge } from '../../src/lab/edge/edge.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { ask } from '../../src/lab/probe/ask.ts';
import { KubeProxy } from '../../src/lab/services/kube-proxy.ts';
import { missingForServices } from '../../src/lab/services/needs.ts';
import { publishService, SERVICE_PORT, syncEndpointSlices } from '../../src/lab/services/publish-service.ts';

t.setTimeout(150_000);
const missing = missingForServices();
const CLUSTER_IPS = { 4: '172.21.0.10', 6: 'fd00:21::10' } as const;
const SERVICE_CIDRS = { 4: '172.21.0.0/20', 6: 'fd00:21::/112' } as const;
const POD_CIDRS = { 4: '192.168.0.0/16', 6: '2001:db8:0:100::/56' } as const;
const NODE_PORT = 30_701;
/** Longer than the cool-down. */
const REST_MS = 500;

t.test(
  'mode ENIOnly: all paths, services, and ENIs that come back',
  {
    skip: missing !== null && `NOT RUN: ${missing}`,
  },
  async (t) => {
    const config = {
      ip_stack: 'dual',
      cool_down: '200ms',
      max_pool_size: 3,
      min_pool_size: 0,
      service_cidr: `${SERVICE_CIDRS[4]},${SERVICE_CIDRS[6]}`,
    };
    const lab = await startLab({ topology: labTopology(2, undefined, true), mode: 'ENIOnly', config });
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

async function lived(t: Test, lab: Lab): Promise<void> {
  const add = (name: string, node: string) => lab.addPod(name, node, { labels: { pod: name } });
  await Promise.all([add('a', 'node-1'), add('b', 'node-1'), add('far', 'node-2')]);
  const held = lab.truth().enis.filter((eni) => eni.type !== 'Primary' && eni.status === 'InUse');
  t.equal(
    new Set([...lab.pods.values()].map(({ ips }) => held.find((eni) => eni.ipv4.includes(ips[0] ?? ''))?.eniId)).size,
    3,
  );
  t.ok(
    held.every(({ ipv4 }) => ipv4.length === 1),
    'an ENI has one address',
  );
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
  t.equal((await node.report())?.leases.length, 2);

  const before = created(lab);
  for (const round of [1, 2, 3]) {
    await lab.removePod('a');
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    await add('a', 'node-1');
    t.strictSame(await bad(), [], `round ${round}: on the ENI that came back`);
  }
  t.equal(created(lab), before, 'no ENI was made for them');

  t.strictSame(lab.refused(), { routingFault: 0, justReleased: 0, unknownSource: 0, noDestination: 0 });
}

async function services(t: Test, lab: Lab): Promise<void> {
  publishService(lab.api, {
    name: 'far',
    selector: { pod: 'far' },
    clusterIps: Object.values(CLUSTER_IPS),
    nodePort: NODE_PORT,
  });
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
  const seen = async (from: string, address: string, port: number) => {
    const netns = lab.netnsOf(from);
    if (netns === null) throw new Error(`no ${from}`);
    const result = await ask(netns, { address, port, timeoutMs: 4_000, attempts: 4 });
    return result.reached ? result.sourceSeen : result.why;
  };
  for (const family of [4, 6] as const) {
    const at = (name: string) => lab.place(name).ips.find((ip) => ip.includes(':') === (family === 6));
    t.equal(await seen('a', CLUSTER_IPS[family], SERVICE_PORT), at('node-1'), `F1: ClusterIP elsewhere, IPv${family}`);
    t.equal(await seen('far', CLUSTER_IPS[family], SERVICE_PORT), at('node-2'), `P20: itself, IPv${family}`);
    for (const node of ['node-1', 'node-2'])
      t.equal(await seen(OUTSIDE, at(node) ?? '', NODE_PORT), at(node), `NodePort of ${node}, IPv${family}`);
  }
  await Promise.all(proxies.map((proxy) => proxy.remove()));
}
