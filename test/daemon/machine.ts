/**
 * A machine for one daemon, inside the box of the test: the lab's cloud and API server on loopback, and an ENI that is attached in the
 * cloud appears as a device (a veth, in the kernel's place of virtio) in this network namespace.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { createVeth, deleteLink, setLink } from '../../src/adapters/netlink/wire/link.ts';
import { type ApiServer, startApiServer } from '../../src/lab/apiserver/api-server.ts';
import type { JsonObject } from '../../src/lab/apiserver/kube-object.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { prepareBox } from '../../src/lab/box/inside-box.ts';
import { LAB_ACCESS_KEY } from '../../src/lab/cloud/keys.ts';
import { type CloudOptions, type RunningCloud, runCloud } from '../../src/lab/cloud/run-cloud.ts';
import type { NodeReport } from '../../src/ports/introspection.ts';
import type { VpcEvent } from '../../src/vpc/events.ts';

/** What was built; ENACTOR_DIST names another build. */
const DAEMON = resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactord.js');
/** The daemon runs under Node, also where Bun runs us (the benches). */
const NODE_PROGRAM = process.versions.bun === undefined ? process.execPath : 'node';
const INSTANCE = 'i-lab-node-1';
export const NODE = 'node-1';
const PATIENCE_MS = 60_000;

export type Paths = { grpcSocket: string; jsonSocket: string; debugSocket: string; dataDir: string; lockFile: string };

export class Machine {
  readonly dir: string;
  readonly cloud: RunningCloud;
  readonly api: ApiServer;
  readonly paths: Paths;
  readonly #running: DaemonRun[] = [];

  constructor(dir: string, cloud: RunningCloud, api: ApiServer) {
    this.dir = dir;
    this.cloud = cloud;
    this.api = api;
    this.paths = {
      grpcSocket: join(dir, 'g.sock'),
      jsonSocket: join(dir, 'j.sock'),
      debugSocket: join(dir, 'd.sock'),
      dataDir: join(dir, 'data'),
      lockFile: join(dir, 'lock'),
    };
  }

  /** Starts `dist/enactord.js`; a flag that is given here wins. */
  start(
    flags: Partial<Paths> & {
      cniConfDir?: string;
      cloudUrl?: string;
      metadataUrl?: string;
      /** Where its log goes; absent: to a file of its own. */
      logTo?: string;
      /** Flags as they are typed: the last one of a name wins. */
      more?: readonly string[];
    } = {},
    cwd = this.dir,
    nodeArgs: readonly string[] = [],
  ): DaemonRun {
    const paths = { ...this.paths, ...flags };
    const { host } = new URL(flags.cloudUrl ?? this.cloud.url);
    const args = [
      ...nodeArgs,
      DAEMON,
      ...['--config', join(this.dir, 'eni_conf'), '--node-name', NODE, '--kubeconfig', join(this.dir, 'kubeconfig')],
      ...[
        '--data-dir',
        paths.dataDir,
        '--lock-file',
        paths.lockFile,
        '--terway-db',
        join(this.dir, 'terway.db'),
        '--debug-socket',
        paths.debugSocket,
      ],
      ...['--grpc-socket', paths.grpcSocket, '--json-socket', paths.jsonSocket],
      ...['--metadata-url', `${flags.metadataUrl ?? this.cloud.url}/metadata/${INSTANCE}`, '--cloud-scheme', 'http'],
      ...['--ecs-endpoint', host, '--vpc-endpoint', host, '--cni-conf-dir', flags.cniConfDir ?? join(this.dir, 'cni')],
      ...(flags.more ?? []),
    ];
    const run = new DaemonRun(
      args,
      cwd,
      flags.logTo ?? join(this.dir, `log-${this.#running.length}`),
      paths.debugSocket,
    );
    this.#running.push(run);
    return run;
  }

  /** Its uid. */
  addPod(name: string, more: { readonly ownerReferences?: JsonObject[] } = {}): string {
    const pods = resourceNamed('pods');
    if (pods === null) throw new Error('no pods');
    const spec = { nodeName: NODE, containers: [{ name: 'main', image: 'busybox' }] };
    this.api.lifecycle.create(pods, 'default', { metadata: { name, ...more }, spec });
    return this.api.store.get(pods, 'default', name)?.metadata.uid ?? '';
  }

  /** As of a pod that runs. */
  runPod(name: string, ip: string): void {
    const pods = resourceNamed('pods');
    const object = pods === null ? null : this.api.store.get(pods, 'default', name);
    if (pods === null || object === null) throw new Error(`no pod ${name}`);
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }] };
    this.api.lifecycle.update(pods, object, { ...object, status }, 'status');
  }

  removePod(name: string): void {
    const pods = resourceNamed('pods');
    const object = pods === null ? null : this.api.store.get(pods, 'default', name);
    if (pods === null || object === null) throw new Error(`no pod ${name}`);
    this.api.lifecycle.delete(pods, object, { gracePeriodSeconds: 0, uid: null, resourceVersion: null });
  }

  async end(): Promise<void> {
    for (const run of this.#running) await run.kill();
  }
}

/** One process. */
export class DaemonRun {
  readonly #child: ChildProcess;
  readonly #logPath: string;
  readonly #debugSocket: string;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  #running = true;

  constructor(args: readonly string[], cwd: string, logPath: string, debugSocket: string) {
    this.#logPath = logPath;
    this.#debugSocket = debugSocket;
    const log = openSync(logPath, 'a');
    // tap puts its loaders into the environment of every child, which doubles start-up and memory: env(1) takes them out again.
    const program = ['-i', `PATH=${process.env.PATH}`, NODE_PROGRAM, ...args];
    this.#child = spawn('env', program, { cwd, stdio: ['ignore', log, log] });
    closeSync(log);
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#running = false;
        resolve({ code, signal });
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Of a device that takes none there is none. */
  get log(): string {
    if (!statSync(this.#logPath).isFile()) return '';
    return readFileSync(this.#logPath, 'utf8');
  }

  /** Rejects with the log when it ends first. */
  async serving(): Promise<void> {
    await this.until(async () => (await ask(this.#debugSocket, 'GET', '/v1/health')).status === 200);
  }

  async report(): Promise<NodeReport> {
    return (await ask(this.#debugSocket, 'GET', '/v1/report')).body as NodeReport;
  }

  async until(met: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    while (!(await met().catch(() => false))) {
      if (!this.#running) throw new Error(`enactord ended:\n${this.log}`);
      if (performance.now() > endMs) throw new Error(`enactord never got there:\n${this.log}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM') {
    this.#child.kill(signal);
    return await this.ended;
  }

  async kill() {
    this.#child.kill('SIGKILL');
    return await this.ended;
  }
}

export async function machine(
  t: Test,
  config: Record<string, unknown> = {},
  options: Pick<CloudOptions, 'topology' | 'settings'> = {},
): Promise<Machine> {
  if (!existsSync(DAEMON)) throw new Error(`${DAEMON} is not built yet: npm run build`);
  const { runDir } = prepareBox();
  const libc = openKoffiLibc();
  const netlink = new Netlink(libc);
  const lo = netlink.linkByName('lo');
  if (lo !== null) netlink.apply([setLink(lo.index, { up: true })]);
  const dir = mkdtempSync(join(runDir, 'm'));
  const cloud = await runCloud({ listen: '127.0.0.1:0', profile: 'fast', ...options });
  const api = await startApiServer({ kubeconfigPath: join(dir, 'kubeconfig') });
  const { accessKeyId: access_key, accessKeySecret: access_secret } = LAB_ACCESS_KEY;
  const keys = { access_key, access_secret, eni_link_kinds: ['device', 'veth'], describe_period: '20ms', ...config };
  writeFileSync(join(dir, 'eni_conf'), JSON.stringify(keys));
  mkdirSync(join(dir, 'cni'));
  const unplug = cloud.model.subscribe((event) => plugged(netlink, event));
  const made = new Machine(dir, cloud, api);
  t.teardown(async () => {
    await made.end();
    unplug();
    await cloud.close();
    await api.close();
    for (const link of netlink.links())
      if (link.name.startsWith('eni') && link.name.endsWith('p')) netlink.apply([deleteLink(link)]);
    netlink.close();
    // The files are on the box's own tmpfs and go with it.
  });
  return made;
}

function plugged(netlink: Netlink, event: VpcEvent): void {
  if (event.type === 'attached' && event.instanceId === INSTANCE && !event.primary) {
    const here = openSync('/proc/self/ns/net', 'r');
    const name = `eni${event.deviceIndex}`;
    const peerMac = `02${event.mac.slice(2)}`;
    const peerEnd = { name: `${name}p`, mac: peerMac, mtu: 1500 };
    netlink.apply([createVeth({ name, mac: event.mac, mtu: 1500, peer: peerEnd, peerNetnsFd: here })]);
    const peer = netlink.linkByName(`${name}p`);
    if (peer !== null) netlink.apply([setLink(peer.index, { up: true })]);
    closeSync(here);
  }
  if (event.type === 'detached') {
    const link = netlink.links().find(({ mac }) => mac === event.mac);
    if (link !== undefined) netlink.apply([deleteLink(link)]);
  }
}

export type Answer = { status: number; body: unknown };

export function ask(socketPath: string, method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const call = request({ socketPath, path, method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

export function call(
  socketPath: string,
  method: string,
  pod: string,
  more: Record<string, unknown> = {},
): Promise<Answer> {
  const named = {
    K8sPodName: pod,
    K8sPodNamespace: 'default',
    K8sPodInfraContainerId: `sandbox-${pod}`,
    IfName: 'eth0',
  };
  return ask(socketPath, 'POST', `/rpc.TerwayBackend/${method}`, { ...named, Netns: '/proc/self/ns/net', ...more });
}
