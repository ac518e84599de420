/**
 * Services in a lab that lives: a kube-proxy on every node that follows the API server, and one service, `echo`, of all pods, which the world
 * reaches by NodePort and by an external IP a node.
 */
import { externalIps, openEdge } from '../edge/edge.ts';
import type { Lab } from '../lab.ts';
import { KubeProxy, type ProxyForm } from './kube-proxy.ts';
import type { ProxyNode } from './local-traffic.ts';
import { publishService, syncEndpointSlices } from './publish-service.ts';

export const ECHO_SERVICE = 'echo';
export const ECHO_NODE_PORT = 30_007;

/** Changes within this time are one. */
const GATHER_MS = 200;

const serviceCidrs = { 4: '172.21.0.0/20', 6: 'fd00:21::/112' } as const;

export class LiveServices {
  readonly #lab: Lab;
  readonly #proxies: readonly KubeProxy[];
  readonly #tell: (line: string) => void;
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | null = null;
  #work: Promise<void> = Promise.resolve();

  private constructor(lab: Lab, form: ProxyForm, tell: (line: string) => void) {
    this.#lab = lab;
    this.#tell = tell;
    this.#proxies = lab.nodes.map(({ name, guest }) => {
      const node: ProxyNode = { name, ips: guest.ips, local: { by: 'interfacePrefix', prefix: 'cali' }, serviceCidrs };
      return new KubeProxy(guest.netns, lab.api, form, node);
    });
    this.#unsubscribe = lab.api.store.subscribe(({ resource }) => {
      if (resource.plural === 'pods' || resource.plural === 'services') this.#later();
    });
  }

  /** Opens the world beyond the VPC, publishes `echo` and writes the first rules. */
  static async open(lab: Lab, form: ProxyForm, tell: (line: string) => void): Promise<LiveServices> {
    await openEdge(lab);
    publishService(lab.api, {
      name: ECHO_SERVICE,
      selector: { app: 'echo' },
      clusterIps: ['172.21.0.7', 'fd00:21::7'],
      nodePort: ECHO_NODE_PORT,
      externalIps: lab.nodes.flatMap(({ name }) => externalIps(lab, name, 0)),
    });
    const services = new LiveServices(lab, form, tell);
    await services.sync();
    return services;
  }

  async sync(): Promise<void> {
    syncEndpointSlices(this.#lab.api);
    await Promise.all(this.#proxies.map((proxy) => proxy.sync()));
  }

  /** Resolves when no rules are being written any more. The rules go with the nodes. */
  async close(): Promise<void> {
    this.#unsubscribe();
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#work;
  }

  #later(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#work = this.#work
        .then(() => this.sync())
        .catch((error: unknown) => this.#tell(`kube-proxy: ${error instanceof Error ? error.message : error}`));
    }, GATHER_MS);
  }
}
