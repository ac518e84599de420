/**
 * A Kubernetes node of the lab: a guest with the services an instance finds around it (metadata, OpenAPI, API server), the
 * production daemon, and a kubelet.
 */

import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { socketPathProblem } from '../../core/limits.ts';
import type { NodeReport } from '../../ports/introspection.ts';
import type { ApiServer } from '../apiserver/api-server.ts';
import { kubeconfig, writeKubeconfig } from '../apiserver/kubeconfig.ts';
import { LAB_ACCESS_KEY } from '../cloud/keys.ts';
import type { Cloud } from '../cloud/run-cloud.ts';
import { type Door, listenInside, openDoor } from '../guest/door.ts';
import { type Guest, METADATA_IP } from '../guest/guest.ts';
import { Kubelet } from '../kubelet/kubelet.ts';
import type { Programs } from '../programs.ts';
import { DaemonProcess } from './daemon-process.ts';
import { isServing, readReport } from './debug-client.ts';

const METADATA_PORT = 80;
/** On every address of the node. */
export const OPENAPI_PORT = 8080;
export const API_SERVER_PORT = 6443;
const SERVING_POLL_MS = 50;

export type LabNodeOptions = {
  readonly guest: Guest;
  readonly nodeIp: string;
  /** Sockets, data, configuration and log of this node; short, since it starts socket paths. */
  readonly dir: string;
  readonly cloud: Cloud;
  readonly api: ApiServer;
  readonly programs: Programs;
  /** The daemon's configuration file; keys of the cloud's access are added. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly podStartTimeoutMs: number;
};

export class LabNode {
  readonly name: string;
  readonly guest: Guest;
  readonly nodeIp: string;
  readonly instanceId: string;
  readonly dir: string;
  readonly kubelet: Kubelet;
  readonly debugSocket: string;
  readonly jsonSocket: string;
  readonly grpcSocket: string;
  readonly dataDir: string;
  readonly confDir: string;
  readonly #options: LabNodeOptions;
  readonly #doors: Door[] = [];
  #daemon: DaemonProcess | null = null;

  private constructor(options: LabNodeOptions) {
    const { guest, dir } = options;
    this.#options = options;
    this.name = guest.name;
    this.guest = guest;
    this.nodeIp = options.nodeIp;
    this.instanceId = guest.instanceId;
    this.dir = dir;
    this.debugSocket = `${dir}/debug.sock`;
    this.jsonSocket = `${dir}/json.sock`;
    this.grpcSocket = `${dir}/grpc.sock`;
    this.dataDir = `${dir}/data`;
    this.confDir = `${dir}/cni`;
    this.kubelet = new Kubelet({
      nodeName: this.name,
      host: guest.netns,
      api: options.api,
      pluginDir: options.programs.cniDir,
      confDir: this.confDir,
      netnsDir: `${dir}/netns`,
      startTimeoutMs: options.podStartTimeoutMs,
    });
  }

  /** Opens the services of the node and registers it; the daemon is not started yet. */
  static async create(options: LabNodeOptions): Promise<LabNode> {
    const node = new LabNode(options);
    const { guest, cloud, api } = options;
    for (const path of [node.debugSocket, node.jsonSocket, node.grpcSocket]) {
      const problem = socketPathProblem(path);
      if (problem !== null) throw new Error(problem);
    }
    for (const dir of [node.dataDir, node.confDir, `${node.dir}/netns`]) mkdirSync(dir, { recursive: true });
    for (const [port, handler] of [
      [METADATA_PORT, cloud.metadataHandler(guest.instanceId)],
      [OPENAPI_PORT, cloud.handler],
    ] as const) {
      const server = createServer({ keepAliveTimeout: 60_000 }, handler);
      await listenInside(guest.netns, server, port);
      node.#doors.push({
        close: () =>
          new Promise((resolve) => {
            server.close(() => resolve());
            server.closeAllConnections();
          }),
      });
    }
    const { hostname, port } = new URL(api.url);
    node.#doors.push(await openDoor(guest.netns, API_SERVER_PORT, { host: hostname, port: Number(port) }));
    node.#newBoot();
    node.#writeConfig();
    await writeKubeconfig(
      `${node.dir}/kubeconfig`,
      kubeconfig({
        url: `https://127.0.0.1:${API_SERVER_PORT}`,
        ca: api.ca,
        user: 'enactor',
        credentials: { token: api.token },
      }),
    );
    return node;
  }

  get daemon(): DaemonProcess | null {
    return this.#daemon;
  }

  /** Starts `enactord` in the node's namespace. Throws when one runs already. */
  startDaemon(): DaemonProcess {
    if (this.#daemon !== null && this.#daemon.pid !== null) throw new Error(`${this.name} has a daemon`);
    this.#daemon = new DaemonProcess(this.guest.netns, this.#options.programs.enactord, this.#flags(), this.logPath);
    return this.#daemon;
  }

  get logPath(): string {
    return `${this.dir}/enactord.log`;
  }

  /** Resolves when the daemon serves. Rejects when it ends first or the time is over, with the end of its log. */
  async whenServing(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    while (!(await isServing(this.debugSocket))) {
      const over = performance.now() > untilMs;
      if (over || this.#daemon?.pid == null) {
        const why = this.#daemon?.problem ?? (over ? `does not serve after ${timeoutMs} ms` : 'has no daemon');
        const tail = (await this.#daemon?.logTail(15)) ?? [];
        throw new Error([`${this.name}: ${why}`, ...tail.map((line) => `  ${line}`)].join('\n'));
      }
      await sleep(SERVING_POLL_MS, undefined, signal === undefined ? {} : { signal });
    }
  }

  /**
   * The power goes: the daemon is killed, and what is on no disk is gone, its sockets and lock among it. `startDaemon` is the boot.
   */
  async cutOff(): Promise<void> {
    this.#daemon?.signal('SIGKILL');
    await this.#daemon?.ended;
    this.guest.forgetPods();
    for (const path of [this.debugSocket, this.jsonSocket, this.grpcSocket, `${this.dir}/terwayd.lock`])
      rmSync(path, { force: true });
    this.#newBoot();
  }

  /** Null while the daemon cannot be asked. */
  async report(): Promise<NodeReport | null> {
    return readReport(this.debugSocket).catch(() => null);
  }

  /** Stops the daemon and closes the services; the guest stays for its owner to remove. */
  async stop(): Promise<void> {
    await this.#daemon?.stop();
    await Promise.all(this.#doors.splice(0).map((door) => door.close()));
  }

  #flags(): string[] {
    const openApi = `127.0.0.1:${OPENAPI_PORT}`;
    const flags = {
      config: `${this.dir}/eni_conf`,
      'node-name': this.name,
      'data-dir': this.dataDir,
      'grpc-socket': this.grpcSocket,
      'json-socket': this.jsonSocket,
      'debug-socket': this.debugSocket,
      'lock-file': `${this.dir}/terwayd.lock`,
      'terway-db': `${this.dir}/terway/ResRelation.db`,
      'boot-id-file': this.#bootIdFile,
      kubeconfig: `${this.dir}/kubeconfig`,
      'metadata-url': `http://${METADATA_IP}`,
      'ecs-endpoint': openApi,
      'vpc-endpoint': openApi,
      'cloud-scheme': 'http',
      'cni-conf-dir': this.confDir,
    };
    return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  }

  get #bootIdFile(): string {
    return `${this.dir}/boot_id`;
  }

  /** The namespaces of the lab share one kernel and so one boot id; each node has a file in its place. */
  #newBoot(): void {
    writeFileSync(this.#bootIdFile, `${randomUUID()}\n`);
  }

  #writeConfig(): void {
    const { accessKeyId, accessKeySecret } = LAB_ACCESS_KEY;
    const config = {
      access_key: accessKeyId,
      access_secret: accessKeySecret,
      eni_link_kinds: ['device', 'veth'],
      ...this.#options.config,
    };
    writeFileSync(`${this.dir}/eni_conf`, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  }
}
