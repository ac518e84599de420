/**
 * The whole path as a container runtime walks it: real plugin, real daemon, real SDK, the lab's cloud and router. Unlike the lab's own
 * kubelet it chooses sandboxes, order and moment itself, can kill what it starts, and judges all that the plugin prints.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { LAB_ACCESS_KEY } from '../../src/lab/cloud/keys.ts';
import { type Lab, type LabOptions, startLab } from '../../src/lab/lab.ts';
import { Netns } from '../../src/lab/netns/netns.ts';
import type { LabNode } from '../../src/lab/node/lab-node.ts';
import { EchoSocket } from '../../src/lab/probe/echo-socket.ts';
import type { AddressState, NodeReport } from '../../src/ports/introspection.ts';
import { differences, type HostSnapshot, snapshotNetns, without } from './host-snapshot.ts';

/** What was built; ENACTOR_DIST names another build. */
const DIST = resolve(process.env.ENACTOR_DIST ?? 'dist');
const PATIENCE_MS = 60_000;
/** The daemon's pool_period in these tests; a rest of two is what the cases mean by "at rest". */
const PERIOD_MS = 300;

/** Short rests, so that a freed address is idle soon; marks that keep what is there unless a test wants otherwise. */
const quick = { min_pool_size: 0, max_pool_size: 100, cool_down: '300ms', pool_period: `${PERIOD_MS}ms` } as const;

export type Sandbox = {
  readonly id: string;
  readonly netns: Netns;
  readonly pod: string;
  readonly namespace: string;
  readonly uid: string | null;
};

export type Verb = 'ADD' | 'DEL' | 'CHECK';

/** Who is told what was found; a test of tap, or the soak. */
export type Judge = {
  ok(holds: boolean, what: string): unknown;
  equal(found: unknown, wanted: unknown, what: string): unknown;
  strictSame(found: unknown, wanted: unknown, what: string): unknown;
  match(found: string, wanted: RegExp, what: string): unknown;
  fail(what: string): unknown;
};

export type RunOptions = {
  /** '' as runtimes send it after a reboot; the sandbox's own when left out. */
  readonly netns?: string;
  readonly conf?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly started?: (child: ChildProcess) => void;
  /** Shell commands before the plugin, in a mount namespace of their own, as the node. */
  readonly before?: string;
  /** A shell's redirections, such as `2>&-`. */
  readonly redirect?: string;
};

export class Ran {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;

  constructor(given: Pick<Ran, 'exitCode' | 'signal' | 'stdout' | 'stderr' | 'ms'>) {
    this.exitCode = given.exitCode;
    this.signal = given.signal;
    this.stdout = given.stdout;
    this.stderr = given.stderr;
    this.ms = given.ms;
  }

  /** I6: '' when stdout and exit code agree as the specification wants it, else what is wrong. */
  problem(verb: Verb): string {
    if (this.signal !== null) return `ended by ${this.signal}`;
    if (this.exitCode === 0 && verb !== 'ADD') return this.stdout === '' ? '' : `printed ${this.stdout}`;
    try {
      const object = JSON.parse(this.stdout);
      const isError =
        typeof object.code === 'number' && typeof object.msg === 'string' && object.cniVersion === '1.0.0';
      const isResult = Array.isArray(object.ips) && object.ips.length === 1 && object.cniVersion === '1.0.0';
      return (this.exitCode === 0 ? isResult : isError) ? '' : `exit ${this.exitCode} with ${this.stdout}`;
    } catch {
      return `exit ${this.exitCode}, and no JSON: ${JSON.stringify(this.stdout)} ${this.stderr}`;
    }
  }

  get error(): { readonly code: number; readonly msg: string; readonly details?: string } {
    return JSON.parse(this.stdout);
  }

  /** The pod's address, without its mask. */
  get ip(): string {
    return JSON.parse(this.stdout).ips[0].address.split('/')[0];
  }
}

/** One node of the lab and what a runtime does there. */
export class Runtime {
  readonly lab: Lab;
  readonly node: LabNode;
  /** The node before anything was added to it. */
  readonly #bare: HostSnapshot;
  readonly #netns = new Set<Netns>();
  readonly #echoes = new Map<Sandbox, EchoSocket>();
  /** Everything any plugin printed, for the search for secrets. */
  readonly printed: string[] = [];
  readonly problems: string[] = [];
  #made = 0;

  constructor(lab: Lab, node: LabNode) {
    this.lab = lab;
    this.node = node;
    this.#bare = this.host();
  }

  get pluginLog(): string {
    return `${this.node.dir}/cni.log`;
  }

  /** A pod of this node in the API server; its uid. */
  createPod(name: string, namespace = 'default', spec: object = {}, metadata: object = {}): string {
    const [pods, namespaces] = [resourceNamed('pods'), resourceNamed('namespaces')];
    if (pods === null || namespaces === null) throw new Error('the API server of the lab has no pods');
    const { lifecycle, store } = this.lab.api;
    if (store.get(namespaces, null, namespace) === null)
      lifecycle.create(namespaces, null, { metadata: { name: namespace } });
    const wanted = { nodeName: this.node.name, containers: [{ name: 'main', image: 'busybox' }], ...spec };
    return lifecycle.create(pods, namespace, { metadata: { name, ...metadata }, spec: wanted }).metadata.uid;
  }

  deletePod(name: string, namespace = 'default'): void {
    const pods = resourceNamed('pods');
    const object = pods === null ? null : this.lab.api.store.get(pods, namespace, name);
    if (pods === null || object === null) throw new Error(`no pod ${name}`);
    const now = { gracePeriodSeconds: 0, uid: null, resourceVersion: null };
    this.lab.api.lifecycle.delete(pods, object, now);
  }

  /** A sandbox with a namespace of its own; the pod in the API server is the caller's business. */
  sandbox(id: string, pod: string, uid: string | null = null, namespace = 'default'): Sandbox {
    this.#made += 1;
    const netns = Netns.create(`${this.node.dir}/netns/s${this.#made}`);
    this.#netns.add(netns);
    return { id, netns, pod, namespace, uid };
  }

  /** A new pod and its only sandbox. */
  newPod(name: string, namespace = 'default'): Sandbox {
    return this.sandbox(`c-${namespace}-${name}`, name, this.createPod(name, namespace), namespace);
  }

  /** Also takes away the namespace, as a runtime does after DEL; idempotent. */
  removeNetns({ netns }: Sandbox): void {
    this.#netns.delete(netns);
    netns.remove();
  }

  add = (sandbox: Sandbox, options?: RunOptions): Promise<Ran> => this.run('ADD', sandbox, options);
  del = (sandbox: Sandbox, options?: RunOptions): Promise<Ran> => this.run('DEL', sandbox, options);

  /** Breaches of I6 are collected in `problems`; a plugin that the test killed is none. */
  async run(verb: Verb, { id, netns, pod, namespace, uid }: Sandbox, options: RunOptions = {}): Promise<Ran> {
    const plugin = join(DIST, 'enactor-cni');
    const { before = 'true', redirect = '' } = options;
    const shell = ['--mount', 'sh', '-c', `${before} && exec "$0" ${redirect}`, plugin];
    const bare = options.before === undefined && options.redirect === undefined;
    const host = this.node.guest.netns;
    const { command, args } = bare ? host.command(plugin, []) : host.command('unshare', shell);
    const beginMs = performance.now();
    const child = spawn(command, args, {
      stdio: 'pipe',
      env: {
        PATH: process.env.PATH,
        CNI_COMMAND: verb,
        CNI_CONTAINERID: id,
        CNI_NETNS: options.netns ?? netns.path,
        CNI_IFNAME: 'eth0',
        CNI_PATH: DIST,
        CNI_ARGS: [
          'IgnoreUnknown=1',
          `K8S_POD_NAMESPACE=${namespace}`,
          `K8S_POD_NAME=${pod}`,
          `K8S_POD_INFRA_CONTAINER_ID=${id}`,
          ...(uid === null ? [] : [`K8S_POD_UID=${uid}`]),
        ].join(';'),
        ...options.env,
      },
    });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.stdin.on('error', () => {}); // one that was killed does not read
    child.stdin.end(JSON.stringify({ ...this.conf, ...options.conf }));
    options.started?.(child);
    const ran = await new Promise<Ran>((done, fail) => {
      child.once('error', fail);
      child.once('close', (exitCode, signal) => {
        const [stdout, stderr] = [out, err].map((chunks) => Buffer.concat(chunks).toString('utf8'));
        const ms = performance.now() - beginMs;
        done(new Ran({ exitCode, signal, stdout: stdout ?? '', stderr: stderr ?? '', ms }));
      });
    });
    this.printed.push(ran.stdout, ran.stderr);
    const problem = ran.signal === 'SIGKILL' ? '' : ran.problem(verb);
    if (problem !== '') this.problems.push(`${verb} ${id}: ${problem}`);
    return ran;
  }

  /** As the daemon installed it, with the plugin's log turned on. */
  get conf(): Readonly<Record<string, unknown>> {
    const list = JSON.parse(readFileSync(join(this.node.confDir, '10-enactor.conflist'), 'utf8'));
    return { ...list.plugins[0], name: list.name, cniVersion: list.cniVersion, logFile: this.pluginLog, debug: true };
  }

  /** Throws while the daemon cannot be asked. */
  async report(): Promise<NodeReport> {
    const report = await this.node.report();
    if (report === null) throw new Error(`${this.node.name}: the daemon cannot be asked`);
    return report;
  }

  /** What the daemon says of an address; `gone` when no ENI of it has it. */
  async stateOf(ip: string): Promise<AddressState | 'gone'> {
    const { enis } = await this.report();
    return enis.flatMap((eni) => eni.addresses).find((one) => one.ipv4 === ip)?.state ?? 'gone';
  }

  /** Stays open until the test ends; there can be one only. */
  async echo(sandbox: Sandbox): Promise<EchoSocket> {
    const echo = this.#echoes.get(sandbox) ?? (await EchoSocket.open(sandbox.netns));
    this.#echoes.set(sandbox, echo);
    return echo;
  }

  /** Ends it, so that nothing holds the namespace; idempotent. */
  async closeEcho(sandbox: Sandbox): Promise<void> {
    await this.#echoes.get(sandbox)?.close();
    this.#echoes.delete(sandbox);
  }

  /** '' when a probe from the sandbox to the host elsewhere in the VPC is answered and was seen with this source. */
  async reaches(sandbox: Sandbox, ip: string): Promise<string> {
    const open = this.#echoes.get(sandbox);
    const echo = open ?? (await EchoSocket.open(sandbox.netns));
    try {
      const far = this.lab.place('elsewhere').ips[0] ?? '';
      const result = await echo.probe(far, 3_000);
      if (!result.reached) return result.why;
      return result.sourceSeen === ip ? '' : `seen with ${result.sourceSeen} in place of ${ip}`;
    } finally {
      if (open === undefined) await echo.close();
    }
  }

  /** Through the admin interface, as anybody would; the ids of what was planted. */
  async plant(...faults: readonly object[]): Promise<readonly string[]> {
    return ((await this.#admin('POST', 'faults', faults)) as { ids: string[] }).ids;
  }

  async clearFaults(): Promise<void> {
    await this.#admin('DELETE', 'faults');
  }

  async clearFault(id: string): Promise<void> {
    await this.#admin('DELETE', `faults/${id}`);
  }

  async change(...changes: readonly object[]): Promise<void> {
    await this.#admin('POST', 'change', changes);
  }

  async #admin(method: string, route: string, body?: unknown): Promise<unknown> {
    const { handler } = this.lab.cloud;
    const server = createHttpServer(handler);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    try {
      const { port } = server.address() as AddressInfo;
      const text = body === undefined ? null : JSON.stringify(body);
      const response = await fetch(`http://127.0.0.1:${port}/admin/${route}`, { method, body: text });
      const answer: unknown = await response.json();
      if (!response.ok) throw new Error(`${method} ${route}: ${JSON.stringify(answer)}`);
      return answer;
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  get enis() {
    return this.lab.truth().enis.filter((eni) => eni.type !== 'Primary');
  }

  /** Calls that changed something, or tried to, after the ledger's entry `since`. */
  mutations(since = 0): string[] {
    const entries = this.lab.cloud.live.gateway.ledger.read(since, null);
    return entries.filter(({ api }) => !api.startsWith('Describe')).map(({ api, outcome }) => `${api} ${outcome}`);
  }

  /** The node without its managed ENIs, their addresses and tables. */
  host(): HostSnapshot {
    const devices = this.enis.flatMap((eni) => this.lab.hypervisor.deviceOf(eni.eniId) ?? []);
    const now = snapshotNetns(this.node.guest.netns);
    const tables = (now.routes ?? []).flatMap((line) => / table (1\d{3,})$/.exec(line)?.[1] ?? []).map(Number);
    return without(now, devices, tables);
  }

  /**
   * I1 to I8 of the cases, with `live` the sandboxes that hold an address by now. Waits for the rest first, and asserts that it is one.
   * @param routingFaults packets that left by a wrong ENI while somebody had broken the rules
   */
  async invariants(t: Judge, live: ReadonlyMap<Sandbox, string> = new Map(), routingFaults = 0): Promise<void> {
    // A lost answer is found out by comparing, so that what looks like rest may be a pause: two periods without a call are one.
    let quiet = { seq: -1, sinceMs: 0 };
    await eventually('the node is at rest', async () => {
      const seq = this.#lastMutation();
      if (seq !== quiet.seq) quiet = { seq, sinceMs: performance.now() };
      if (performance.now() - quiet.sinceMs < 2 * PERIOD_MS) return false;
      const { pool, waiting, enis } = await this.report();
      if (pool === null) return false;
      const { offered, cooling, leaving, idle } = pool.counts;
      const moving = offered + cooling + leaving + waiting.length;
      return moving === 0 && idle <= pool.maxIdle && enis.every(({ state }) => /^inUse/.test(state));
    });
    const since = this.lab.cloud.live.gateway.ledger.lastSeq;
    await sleep(2 * PERIOD_MS);
    t.strictSame(this.mutations(since), [], 'I3: no call at rest');
    const { leases, enis, state } = await this.report();
    t.match(state, /serving/, 'I7: it serves');
    const ips = leases.map(({ grant }) => grant.address.ipv4);
    t.equal(new Set(ips).size, ips.length, 'I1: no address twice');
    const told = leases.map(({ sandbox, grant }) => `${sandbox.containerId} ${grant.address.ipv4}`);
    t.strictSame(
      told.sort(),
      [...live].map(([{ id }, ip]) => `${id} ${ip}`).sort(),
      'the leases are those of the live',
    );
    const truth = new Map(this.enis.map((eni) => [eni.eniId, [...eni.ipv4].sort()]));
    const lies = leases.filter(({ grant }) => !truth.get(grant.eni.eniId)?.includes(grant.address.ipv4));
    t.strictSame(lies, [], 'I2: each is in the truth on the ENI that was told');
    const books = enis.map((eni) => [eni.eniId ?? '', eni.addresses.map(({ ipv4 }) => ipv4).sort()] as const);
    t.strictSame(new Map(books.toSorted()), new Map([...truth].toSorted()), 'I3: the books are the truth');
    t.ok(
      this.enis.every((eni) => eni.instanceId === this.node.instanceId && eni.status === 'InUse'),
      'I4: every ENI of ours is attached',
    );
    const foreign = this.lab.cloud.live.gateway.ledger.read(0, null).filter(({ params, changed }) => {
      return changed && this.#primaries.includes(params.NetworkInterfaceId ?? '');
    });
    t.strictSame(foreign, [], 'I5: the primary ENI is untouched');
    t.strictSame(this.problems, [], 'I6: stdout and exit code agree, always');
    t.strictSame(this.secrets(), [], 'I7: no secret is told');
    t.equal(this.lab.refused().routingFault, routingFaults, 'no packet left by a wrong ENI');
    for (const [sandbox, ip] of live) {
      const trouble = await this.reaches(sandbox, ip);
      if (trouble !== '') t.fail(`${sandbox.id} does not reach out: ${trouble}`);
    }
    const alive = new Set([...live.values()].map((ip) => `${ip}/32`));
    const strange = differences(this.#bare, this.host()).filter(
      (line) => ![...alive].some((ip) => line.includes(ip)) && !(live.size > 0 && /\bcali/.test(line)),
    );
    t.strictSame(strange, [], 'I8: nothing is on the host for a pod that is gone');
    const devices = (this.host().links ?? []).filter((line) => line.startsWith('cali'));
    t.equal(devices.length, live.size, 'I8: as many host ends as pods that live');
  }

  #lastMutation(): number {
    const entries = this.lab.cloud.live.gateway.ledger.read(0, null);
    return entries.findLast(({ api }) => !api.startsWith('Describe'))?.seq ?? 0;
  }

  get #primaries(): string[] {
    return this.lab.truth().enis.flatMap((eni) => (eni.type === 'Primary' ? eni.eniId : []));
  }

  /** Where the keys to the cloud or to the API server can be read. */
  secrets(more: Readonly<Record<string, string>> = {}): string[] {
    const file = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
    const places = {
      'the daemon’s log': file(this.node.logPath),
      'the plugin’s log': file(this.pluginLog),
      'the plugin’s output': this.printed.join('\n'),
      ...more,
    };
    const secrets = [LAB_ACCESS_KEY.accessKeySecret, this.lab.api.token];
    return Object.entries(places).flatMap(([place, text]) => (secrets.some((one) => text.includes(one)) ? place : []));
  }

  async end(): Promise<void> {
    for (const echo of this.#echoes.values()) await echo.close();
    for (const netns of this.#netns) netns.remove();
  }
}

/** Why the whole path cannot be walked here, or false. */
export function cannotWalk(): string | false {
  const missing = ['enactord.js', 'enactor-cni'].filter((name) => !existsSync(join(DIST, name)));
  return missing.length > 0 && `NOT RUN: ${missing.join(', ')} not built in ${DIST}: npm run build`;
}

/**
 * A lab with one node (unless told otherwise), all of it gone afterwards, whatever happened; a failure shows the daemon's last words.
 * @param enactord what is started as the daemon
 */
export async function walk(
  t: Test,
  options: Omit<LabOptions, 'programs'>,
  work: (runtime: Runtime) => Promise<void>,
  enactord = join(DIST, 'enactord.js'),
): Promise<void> {
  const lab = await startLab({
    nodes: 1,
    ...options,
    config: { ...quick, ...options.config },
    programs: { enactord, cniDir: DIST },
  });
  const [node] = lab.nodes;
  if (node === undefined) throw new Error('the lab has no node');
  const runtime = new Runtime(lab, node);
  try {
    await eventually('the network is installed', async () => existsSync(join(node.confDir, '10-enactor.conflist')));
    await work(runtime);
  } catch (error) {
    t.comment((await node.daemon?.logTail(25))?.join('\n'));
    throw error;
  } finally {
    if (!t.passing()) t.comment((await node.daemon?.logTail(25))?.join('\n'));
    await runtime.end();
    t.strictSame(await lab.stop(), [], 'a clean end');
  }
}

export async function eventually(what: string, holds: () => Promise<boolean>, timeoutMs = PATIENCE_MS): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await sleep(25);
  }
}

/** Probes that go on, one every few milliseconds, whatever happens meanwhile. */
export class Ping {
  readonly #ending = new AbortController();
  readonly #probes: Promise<string>[] = [];
  readonly #loop: Promise<void>;

  constructor(from: EchoSocket, to: string, source: string, everyMs = 4) {
    this.#loop = (async () => {
      while (!this.#ending.signal.aborted) {
        this.#probes.push(this.#once(from, to, source));
        await sleep(everyMs);
      }
    })();
  }

  /** How many were sent, and what became of those that were not answered by the right one, seen with the right source. */
  async stop(): Promise<{ readonly sent: number; readonly lost: readonly string[] }> {
    this.#ending.abort();
    await this.#loop;
    const outcomes = await Promise.all(this.#probes);
    return { sent: outcomes.length, lost: outcomes.filter((text) => text !== '') };
  }

  async #once(from: EchoSocket, to: string, source: string): Promise<string> {
    // One packet: a second try would hide a loss. Patience is for a machine that is busy.
    const result = await from.probe(to, 5_000, 1);
    if (!result.reached) return result.why;
    return result.sourceSeen === source && result.answeredBy === to ? '' : JSON.stringify(result);
  }
}

/**
 * Stands between plugin and daemon: hears of each answer before the plugin does, and may change what is asked.
 * Name `path` as `daemonSocket`.
 */
export class Middleman {
  readonly path: string;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(path: string, server: Server) {
    this.path = path;
    this.#server = server;
  }

  static async open(
    runtime: { readonly node: Pick<LabNode, 'dir' | 'jsonSocket'> },
    {
      answered = async () => {},
      asked = (text) => text,
      name = 'between',
    }: {
      readonly answered?: (answer: string) => Promise<void>;
      readonly asked?: (request: string) => string;
      /** Of the socket, where several stand between at a time. */
      readonly name?: string;
    },
  ): Promise<Middleman> {
    const path = `${runtime.node.dir}/${name}.sock`;
    const server = createServer((plugin) => {
      const daemon = connect(runtime.node.jsonSocket);
      for (const socket of [plugin, daemon]) {
        middleman.#open.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => middleman.#open.delete(socket));
      }
      plugin.on('data', (bytes) => daemon.write(asked(bytes.toString('utf8'))));
      plugin.on('close', () => daemon.destroy());
      let told = Promise.resolve();
      daemon.on('data', (bytes) => {
        told = told.then(() => answered(bytes.toString('utf8'))).then(() => void plugin.write(bytes));
      });
      daemon.on('close', () => void told.then(() => plugin.end()));
    });
    const middleman = new Middleman(path, server);
    await new Promise<void>((done, fail) => server.once('error', fail).listen(path, done));
    return middleman;
  }

  close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    return new Promise((done) => this.#server.close(() => done()));
  }
}
