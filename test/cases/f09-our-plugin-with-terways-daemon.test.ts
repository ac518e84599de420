/**
 * F9, the other half: our plugin on a node whose daemon is Terway's yet. The daemon here is a double that speaks Terway's own proto
 * (terway.proto: its numbers, nothing of ours) by gRPC, and leaves to the plugin what Terway's leaves to its plugin.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceClientConstructor,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type Test, test } from 'tap';
import type { BackendClient } from '../../src/adapters/http/backend-client.ts';
import { parseConfiguration } from '../../src/plugin/configuration.ts';
import { terwayDaemon } from '../../src/plugin/terway-daemon.ts';
import { shortDirectory } from '../adapters/http/short-directory.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { argsOf, cannotRunPlugin, startPlugin } from '../plugin/plugin-process.ts';

const skip =
  cannotRunPlugin() || (existsSync('/bin/busybox') ? false : 'NOT RUN: /bin/busybox (busybox-static) is not installed');
const MAC = '00:16:3e:00:00:07';
const [NODE, GATEWAY, FAR] = ['192.168.9.2', '192.168.0.253', '192.168.1.9'];

type Ask = { readonly K8sPodName: string; readonly K8sPodInfraContainerId: string };
type Refusal = { readonly code: status; readonly details: string };

/** As much of Terway's daemon as answers a plugin. */
class TerwayDouble {
  readonly calls: string[] = [];
  readonly leases = new Map<string, string>();
  refusal: Refusal | null = null;
  readonly socketPath: string;
  readonly #server = new Server();

  constructor(socketPath: string) {
    this.socketPath = socketPath;
    const definition = loadSync(new URL('terway.proto', import.meta.url).pathname, { keepCase: true, longs: String });
    const { TerwayBackend } = loadPackageDefinition(definition).rpc as Record<string, ServiceClientConstructor>;
    if (TerwayBackend === undefined) throw new Error('terway.proto has no TerwayBackend');
    const answer =
      (name: string, reply: (request: Ask) => object) =>
      ({ request }: ServerUnaryCall<Ask, object>, callback: sendUnaryData<object>): void => {
        this.calls.push(`${name} ${request.K8sPodName}`);
        if (this.refusal === null) callback(null, reply(request));
        else callback(this.refusal);
      };
    this.#server.addService(TerwayBackend.service, {
      AllocIP: answer('AllocIP', (request) => {
        const ip = `192.168.0.${10 + this.leases.size}`;
        this.leases.set(request.K8sPodInfraContainerId, ip);
        return { Success: true, ...told(ip) };
      }),
      GetIPInfo: answer('GetIPInfo', ({ K8sPodInfraContainerId: id }) => {
        const ip = this.leases.get(id);
        return { Success: true, ...(ip === undefined ? {} : told(ip)) };
      }),
      ReleaseIP: answer('ReleaseIP', ({ K8sPodInfraContainerId: id }) => {
        this.leases.delete(id);
        return { Success: true };
      }),
      RecordEvent: answer('RecordEvent', () => ({ Succeed: true })),
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const bound = (error: Error | null) => (error === null ? resolve() : reject(error));
      this.#server.bindAsync(`unix:${this.socketPath}`, ServerCredentials.createInsecure(), bound);
    });
  }

  close(): void {
    this.#server.forceShutdown();
  }
}

const told = (ip: string) => ({
  ...{ IPType: 2, IPv4: true },
  NetConfs: [
    {
      BasicInfo: {
        ...{ PodIP: { IPv4: ip }, PodCIDR: { IPv4: '192.168.0.0/24' } },
        ...{ GatewayIP: { IPv4: GATEWAY }, ServiceCIDR: { IPv4: '172.16.0.0/16' } },
      },
      ENIInfo: { MAC, GatewayIP: { IPv4: GATEWAY } },
      Pod: {},
      DefaultRoute: true,
    },
  ],
});

async function node(t: Test) {
  const host = new TestNamespace(t, 'host');
  const vpc = new TestNamespace(t, 'vpc');
  // The primary interface with the node's address, and an ENI as it comes: down, without an address. The gateway behind it is in the VPC.
  host.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'up0', 'netns', vpc.name);
  host.ip('addr', 'add', `${NODE}/24`, 'dev', 'eth0');
  host.ip('link', 'set', 'eth0', 'up');
  host.ip('route', 'add', 'default', 'via', '192.168.9.1');
  host.ip('link', 'add', 'eth1', 'address', MAC, 'type', 'veth', 'peer', 'name', 'eni0', 'netns', vpc.name);
  vpc.ip('link', 'set', 'up0', 'up');
  vpc.ip('link', 'set', 'eni0', 'up');
  vpc.ip('addr', 'add', `${GATEWAY}/24`, 'dev', 'eni0');
  vpc.ip('addr', 'add', `${FAR}/32`, 'dev', 'lo');
  // As the VPC's router: it knows which ENI has an address.
  for (const ip of ['192.168.0.10', '192.168.0.11']) vpc.ip('neigh', 'add', ip, 'lladdr', MAC, 'dev', 'eni0');
  const daemon = new TerwayDouble(join(shortDirectory(t), 'eni.socket'));
  await daemon.listen();
  t.teardown(() => daemon.close());
  const conf = (more: object = {}) =>
    JSON.stringify({
      ...{
        cniVersion: '1.1.0',
        name: 'terway',
        type: 'enactor-cni',
        daemon: 'terway',
        daemonSocket: daemon.socketPath,
      },
      ...{ dataDir: shortDirectory(t), eni_link_kinds: ['veth'], ...more },
    });
  const env = (command: string, pod: TestNamespace, name = 'web-0') => ({
    ...{ CNI_COMMAND: command, CNI_CONTAINERID: `sandbox-${name}`, CNI_NETNS: pod.path, CNI_IFNAME: 'eth0' },
    ...{ CNI_PATH: '/opt/cni/bin', CNI_ARGS: argsOf(name) },
  });
  return { host, daemon, conf, env };
}

test('F9: ADD readies the ENI as Terway’s plugin does, CHECK finds all, packets travel, DEL leaves the ENI and nothing of the pod', {
  skip,
}, async (t) => {
  const { host, daemon, conf, env } = await node(t);
  const pods = ['web-0', 'web-1'].map((name) => ({ name, netns: new TestNamespace(t, 'pod') }));
  const results: Record<string, unknown>[] = [];
  for (const { name, netns } of pods) {
    const added = await startPlugin(host, { env: env('ADD', netns, name), stdin: conf() });
    t.equal(added.exitCode, 0, added.stdout);
    results.push(added.json());
  }
  const index = /^(\d+):/.exec(host.ip('-o', 'link', 'show', 'eth1'))?.[1];
  const table = `${1000 + Number(index)}`;
  t.match(host.ip('rule'), new RegExp(`2048:\\s+from 192\\.168\\.0\\.10 lookup ${table}`), 'by Terway’s own table');
  t.match(host.ip('route', 'show', 'table', table), new RegExp(`default via ${GATEWAY} dev eth1`));
  t.match(host.ip('addr', 'show', 'eth1'), new RegExp(`inet ${NODE}/32`));
  for (const [at, { name, netns }] of pods.entries()) {
    const checked = await startPlugin(host, {
      env: env('CHECK', netns, name),
      stdin: conf({ prevResult: results[at] }),
    });
    t.equal(checked.exitCode, 0, checked.stdout);
    t.match(netns.ip('route', 'get', FAR), /via 169\.254\.1\.1 dev eth0/);
    const ping = ['netns', 'exec', netns.name, 'busybox', 'ping', '-c', '3', '-W', '10', FAR];
    t.match(execFileSync('ip', ping, { encoding: 'utf8' }), / 0% packet loss/, `${name}: by its ENI and back`);
  }
  const [first] = pods;
  if (first === undefined) return;
  for (const time of ['once', 'twice']) {
    const deleted = await startPlugin(host, { env: env('DEL', first.netns), stdin: conf({ prevResult: results[0] }) });
    t.strictSame([deleted.exitCode, deleted.stdout], [0, ''], time);
    t.notMatch(host.ip('rule'), /192\.168\.0\.10\b/, 'no rule of it');
    t.notMatch(host.ip('route'), /192\.168\.0\.10\b/, 'no route to it');
  }
  t.match(host.ip('rule'), /from 192\.168\.0\.11 lookup/, 'the other pod’s are there');
  t.strictSame([...daemon.leases.values()], ['192.168.0.11']);
});

test('F9: what Terway’s daemon refuses is what the runtime reads, and STATUS tells whether it is there', {
  skip,
}, async (t) => {
  const { host, daemon, conf, env } = await node(t);
  const pod = new TestNamespace(t, 'pod');
  const before = [host.state(), pod.state()];
  daemon.refusal = { code: status.UNKNOWN, details: 'code: AllocFailed, msg: the vSwitch is empty' };
  const refused = await startPlugin(host, { env: env('ADD', pod), stdin: conf() });
  t.match(refused.json(), { code: 11, msg: 'code: AllocFailed, msg: the vSwitch is empty' });
  t.strictSame([host.state(), pod.state()], before, 'nothing was made');
  t.equal((await startPlugin(host, { env: env('STATUS', pod), stdin: conf() })).exitCode, 0, 'a daemon that answers');
  t.equal(
    (await startPlugin(host, { env: env('GC', pod), stdin: conf({ 'cni.dev/valid-attachments': [] }) })).exitCode,
    0,
    'which collects by itself',
  );
  daemon.close();
  const status50 = await startPlugin(host, { env: env('STATUS', pod), stdin: conf() });
  t.match(status50.json(), { code: 50, msg: /not reachable/ });
  const del = await startPlugin(host, { env: env('DEL', pod), stdin: conf() });
  t.equal(del.exitCode, 0, 'DEL leaves a note and does not hold the pod up');
});

test('F9: an ENI whose device does not come is told by its MAC, as of an answer after which the address is given back', async (t) => {
  const client: BackendClient = { socketPath: '/s', call: () => Promise.resolve(told('192.168.0.10')) as never };
  const daemon = terwayDaemon(client, {
    ready: ({ mac, gateway }) => Promise.reject(new Error(`no device of this node has the MAC ${mac}, ${gateway}`)),
    tableOf: () => null,
  });
  const asked = { K8sPodName: 'p', K8sPodNamespace: 'ns', K8sPodInfraContainerId: 's', Netns: '/n', IfName: 'eth0' };
  await t.rejects(daemon.call('AllocIP', asked, { timeoutMs: 1_000 }), {
    code: 'broken',
    message: `no device of this node has the MAC ${MAC}, ${GATEWAY}`,
  });
});

test('F9: keys that say it wrongly are named', (t) => {
  const parse = (more: object) => () => parseConfiguration(Buffer.from(JSON.stringify({ name: 'n', ...more })));
  t.throws(parse({ daemon: 'other' }), /"daemon" is "other"; enactor and terway are supported/);
  t.throws(parse({ eni_link_kinds: ['bridge'] }), /"eni_link_kinds" is no list of device, veth, dummy/);
  t.match(parse({ daemon: 'terway' })(), { daemonSocket: '/var/run/eni/eni.socket', eniKinds: ['device'] });
  t.match(parse({})(), { daemon: 'enactor', daemonSocket: '/var/run/eni/enactor.socket' });
  t.end();
});
