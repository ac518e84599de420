/** What the tests of ENIs that pods have for themselves share: a dual-stack lab of two nodes with services, and what is asked of it. */
import type { Test } from 'tap';
import { pathsOf } from '../../src/lab/checks/path-plan.ts';
import { tryPaths } from '../../src/lab/checks/try-paths.ts';
import { openEdge } from '../../src/lab/edge/edge.ts';
import { type Lab, type LabOptions, startLab } from '../../src/lab/lab.ts';
import { labTopology } from '../../src/lab/lab-topology.ts';
import { ask } from '../../src/lab/probe/ask.ts';
import { ECHO_PORT } from '../../src/lab/probe/echo-socket.ts';
import { KubeProxy } from '../../src/lab/services/kube-proxy.ts';
import { missingForServices } from '../../src/lab/services/needs.ts';
import { publishService, syncEndpointSlices } from '../../src/lab/services/publish-service.ts';

const SERVICE_CIDRS = { 4: '172.21.0.0/20', 6: 'fd00:21::/112' } as const;
const POD_CIDRS = { 4: '192.168.0.0/16', 6: '2001:db8:0:100::/56' } as const;
/** Longer than the cool-down. */
const REST_MS = 500;

const missing = missingForServices();
export const skip = missing !== null && `NOT RUN: ${missing}`;

export type Services = Readonly<
  Record<string, { readonly clusterIps: readonly [string, string]; readonly nodePort: number }>
>;

/** Lives with the lab, which leaves nothing behind, and whose router has refused nothing. */
export async function withOwnEnis(
  t: Test,
  { instanceType, ...options }: LabOptions,
  lived: (lab: Lab) => Promise<void>,
): Promise<void> {
  const pool = { cool_down: '200ms', max_pool_size: 3, min_pool_size: 0 };
  const config = { ip_stack: 'dual', ...pool, service_cidr: Object.values(SERVICE_CIDRS).join(), ...options.config };
  const lab = await startLab({ topology: labTopology(2, instanceType, true), ...options, config });
  try {
    await openEdge(lab);
    await lived(lab);
    t.strictSame(lab.refused(), { routingFault: 0, justReleased: 0, unknownSource: 0, noDestination: 0 });
  } finally {
    t.strictSame(await lab.stop(), [], 'nothing is left behind');
  }
}

/** ENIs that were made so far. */
export const created = (lab: Lab): number =>
  lab.cloud.live.gateway.ledger
    .read(0, null)
    .filter(({ api, outcome }) => api === 'CreateNetworkInterface' && outcome === 'ok').length;

/** Paths between all places that do not work, or show another source than the sender's own. */
export const badPaths = async (lab: Lab) => (await tryPaths(lab, pathsOf(lab))).filter(({ worked }) => !worked);

/** Until what was given back may be given out again. */
export const rested = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, REST_MS));

/** Kills the daemon of the first node and starts it; answers with the number of leases that it knows then. */
export async function killed(lab: Lab): Promise<number | undefined> {
  const [node] = lab.nodes;
  if (node === undefined) throw new Error('no node');
  node.daemon?.signal('SIGKILL');
  await node.daemon?.ended;
  node.startDaemon();
  await node.whenServing(30_000);
  return (await node.report())?.leases.length;
}

export type Ask = {
  readonly seen: (from: string, address: string, port?: number) => Promise<string>;
  readonly at: (place: string, family: 4 | 6) => string;
};

/** Services of the pods that are labelled by their names, under kube-proxy's iptables on every node. `seen`: the source that the far end saw, or why nobody answered. */
export async function withServices(lab: Lab, services: Services, work: (ask: Ask) => Promise<void>): Promise<void> {
  for (const [name, { clusterIps, nodePort }] of Object.entries(services))
    publishService(lab.api, { name, selector: { pod: name }, clusterIps, nodePort });
  syncEndpointSlices(lab.api);
  const local = { by: 'clusterCidr', cidrs: POD_CIDRS } as const;
  const proxies = lab.nodes.map(
    ({ name, guest }) =>
      new KubeProxy(guest.netns, lab.api, 'iptables', { name, ips: guest.ips, local, serviceCidrs: SERVICE_CIDRS }),
  );
  await Promise.all(proxies.map((proxy) => proxy.sync()));
  await work({
    at: (place, family) => lab.place(place).ips.find((ip) => ip.includes(':') === (family === 6)) ?? '',
    async seen(from, address, port = ECHO_PORT) {
      const netns = lab.netnsOf(from);
      if (netns === null) throw new Error(`no ${from}`);
      const result = await ask(netns, { address, port, timeoutMs: 4_000, attempts: 4 });
      return result.reached ? result.sourceSeen : result.why;
    },
  });
  await Promise.all(proxies.map((proxy) => proxy.remove()));
}
