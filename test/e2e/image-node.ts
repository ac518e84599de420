/**
 * A node of the lab on which nothing of Enactor is but what its manifests bring: a root and a containerd of its own, the services that an instance
 * finds around it, and a kubelet's hands. What its plugin and daemon do is seen through the node's own paths.
 */
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { askDebug, type DebugAnswer } from '../../src/adapters/http/debug-client.ts';
import { isServing, readReport } from '../../src/lab/node/debug-client.ts';
import { API_SERVER_PORT, type LabNode } from '../../src/lab/node/lab-node.ts';
import { runInside } from '../../src/lab/services/run-inside.ts';
import type { NodeReport } from '../../src/ports/introspection.ts';
import { type Containerd, DEBIAN_CNI_FOLDER, startContainerd } from '../runtime/containerd.ts';
import { NodeRoot } from '../runtime/node-root.ts';

const CONFLIST = 'etc/cni/net.d/10-enactor.conflist';
/** In the image's entry point. */
const DAEMON = '/usr/bin/enactord';
const DEBUG_SOCKET = 'run/eni/eni_debug.socket';

export class ImageNode {
  readonly lab: LabNode;
  readonly containerd: Containerd;
  readonly disk: NodeRoot;
  readonly #pid: number;

  private constructor(lab: LabNode, containerd: Containerd, disk: NodeRoot, pid: number) {
    this.lab = lab;
    this.containerd = containerd;
    this.disk = disk;
    this.#pid = pid;
  }

  static async start(lab: LabNode): Promise<ImageNode> {
    const disk = NodeRoot.create(join(lab.dir, 'disk'), [join(DEBIAN_CNI_FOLDER, 'loopback')]);
    try {
      const containerd = await startContainerd({
        ...{ netns: lab.guest.netns.path, runDir: join(disk.folder, 'run'), root: disk },
        ...{ cniBinDir: '/opt/cni/bin', cniConfDir: '/etc/cni/net.d' },
      });
      const logs = join(disk.folder, 'logs');
      mkdirSync(logs);
      return new ImageNode(lab, containerd, disk, await containerd.pid());
    } catch (error) {
      disk.remove();
      throw error;
    }
  }

  get name(): string {
    return this.lab.name;
  }

  /** The node's `/`, as it is reached from here. */
  get root(): string {
    return `/proc/${this.#pid}/root`;
  }

  /** Of the API server, as the kubelet tells every container. */
  get services(): Readonly<Record<string, string>> {
    return { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: `${API_SERVER_PORT}` };
  }

  /** Has the same path in the node's root. */
  logFolder(pod: string): string {
    const folder = join(this.disk.folder, 'logs', pod);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** The list that the daemon installed, and null without one. */
  conflist(): {
    readonly cniVersions?: readonly string[];
    readonly name: string;
    readonly plugins: readonly object[];
  } | null {
    try {
      return JSON.parse(readFileSync(join(this.root, CONFLIST), 'utf8'));
    } catch {
      return null;
    }
  }

  /** Null while the daemon cannot be asked. */
  report(): Promise<NodeReport | null> {
    return readReport(join(this.root, DEBUG_SOCKET)).catch(() => null);
  }

  serves(): Promise<boolean> {
    return isServing(join(this.root, DEBUG_SOCKET));
  }

  /** Of the daemon in its container, as it is numbered here: for signals. Throws Error when none runs. */
  daemonPid(): number {
    const netns = readlinkSync(`/proc/${this.#pid}/ns/net`);
    const found = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .find((pid) => textOf(`/proc/${pid}/cmdline`).includes(DAEMON) && linkOf(`/proc/${pid}/ns/net`) === netns);
    if (found === undefined) throw new Error(`${this.name}: no daemon runs`);
    return Number(found);
  }

  /** Where the daemon listens for the plugin. */
  get jsonSocket(): string {
    return join(this.root, 'run/eni/enactor.socket');
  }

  /** What health says of the daemon: 200, or 503 with who is missing; null when nothing answers. */
  health(): Promise<DebugAnswer | null> {
    return askDebug(join(this.root, DEBUG_SOCKET), '/v1/health').catch(() => null);
  }

  /** Runs a program of the node's root in all namespaces of the node. Rejects with its words when it fails. */
  run(program: string, argv: readonly string[], input = ''): Promise<string> {
    return runInside(this.#namespaces, program, argv, input);
  }

  /** What a program that is to be spawned is started by. */
  command(program: string, argv: readonly string[]): { command: string; args: string[] } {
    return this.#namespaces.command(program, argv);
  }

  async stop(): Promise<void> {
    try {
      await this.containerd.stop();
    } finally {
      this.disk.remove();
    }
  }

  get #namespaces() {
    const into = ['--target', `${this.#pid}`, '--mount', '--net', '--pid', '--'];
    return {
      command: (program: string, argv: readonly string[]) => ({
        command: 'nsenter',
        args: [...into, program, ...argv],
      }),
    };
  }
}

/** Empty for what has gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
