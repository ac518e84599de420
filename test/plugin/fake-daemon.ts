/**
 * A daemon for the plugin's tests: the JSON form of rpc.TerwayBackend over a unix socket, with leases in memory and faults on
 * request. The real daemon's variant of these tests is elsewhere; this one fails in ways a real daemon is hard to bring to.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type {
  AllocIPReply,
  AllocIPRequest,
  GcRequest,
  NetConf,
  ReleaseIPRequest,
  StatusReply,
} from '../../src/core/wire.ts';

/** Of the ENI whose addresses are handed out. */
export const ENI_TABLE = 1007;

export type Call = {
  readonly method: string;
  readonly body: Record<string, unknown>;
  readonly timeoutMs: string | undefined;
};

export type Fault =
  | { readonly status: number; readonly code: string; readonly message: string }
  | 'hang'
  | 'reset'
  | 'garbage';

export class FakeDaemon {
  readonly socketPath: string;
  readonly calls: Call[] = [];
  /** By method; stays until removed. */
  readonly faults = new Map<string, Fault>();
  /** Runs before the answer to a method is sent. */
  before: (method: string) => void = () => {};
  /** Changes what AllocIP and GetIPInfo answer. */
  shape: (reply: AllocIPReply) => AllocIPReply = (reply) => reply;
  dual = false;
  status: StatusReply = { Code: 0 };
  /** What `Check` answers. */
  problems: readonly string[] = [];
  /** containerId/ifName -> number of the address. */
  readonly leases = new Map<string, number>();
  /** containerId/ifName -> the network that it is of. */
  readonly #networks = new Map<string, string>();
  #next = 10;
  readonly #server: Server;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.socketPath, resolve);
    });
  }

  /** Also drops calls under way. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** Its last answer is out, or on its way: whoever comes after that finds nobody. */
  die(): void {
    for (const method of ['AllocIP', 'ReleaseIP', 'GetIPInfo']) this.faults.set(method, 'reset');
    this.#server.close();
  }

  methods(): string[] {
    return this.calls.map(({ method }) => method);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const method = (request.url ?? '').split('/').at(-1) ?? '';
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
    const timeoutMs = request.headers['connect-timeout-ms'];
    this.calls.push({ method, body, timeoutMs: Array.isArray(timeoutMs) ? timeoutMs[0] : timeoutMs });
    const fault = this.faults.get(method);
    if (fault === 'hang') return;
    if (fault === 'reset') {
      request.socket.destroy();
      return;
    }
    const reply = fault === undefined ? this.#reply(method, body) : null;
    this.before(method);
    if (fault === 'garbage') response.end('not json');
    else if (fault !== undefined) {
      response.writeHead(fault.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code: fault.code, message: fault.message }));
    } else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  }

  #reply(method: string, body: Record<string, unknown>): object {
    const key = `${body.K8sPodInfraContainerId}/${body.IfName}`;
    if (method === 'AllocIP') {
      const { IfName, NetworkName = '' } = body as AllocIPRequest;
      this.#networks.set(key, NetworkName);
      const number = this.leases.get(key) ?? this.#next++;
      this.leases.set(key, number);
      return this.shape(this.#lease(number, IfName));
    }
    if (method === 'ReleaseIP') {
      const number = this.leases.get(key);
      this.leases.delete(key);
      const { IfName = 'eth0' } = body as ReleaseIPRequest;
      return { Success: true, NetConfs: number === undefined ? [] : (this.#lease(number, IfName).NetConfs ?? []) };
    }
    if (method === 'GetIPInfo') {
      const number = this.leases.get(key);
      return number === undefined ? { Success: false, Error: 1 } : this.shape(this.#lease(number, String(body.IfName)));
    }
    if (method === 'Gc') {
      const valid = (body as GcRequest).ValidAttachments.map(({ ContainerId, IfName }) => `${ContainerId}/${IfName}`);
      const ours = [...this.leases].filter(([each]) => this.#networks.get(each) === body.NetworkName);
      const gone = ours.filter(([each]) => !valid.includes(each));
      for (const [each] of gone) this.leases.delete(each);
      const Released = gone.map(([each, number]) => {
        const [ContainerId = '', IfName = ''] = each.split('/');
        return { ContainerId, IfName, K8sPodNamespace: 'default', K8sPodName: 'web-0', IPs: [ipOf(number)] };
      });
      return { Released };
    }
    if (method === 'Status') return this.status;
    if (method === 'Check') return { Problems: this.problems };
    return { Succeed: true };
  }

  #lease(number: number, ifName: string): AllocIPReply {
    const conf: NetConf = {
      BasicInfo: { PodIP: { IPv4: ipOf(number), IPv6: this.dual ? `fd00::${number}` : '' } },
      ENIInfo: { MAC: '00:16:3e:00:00:01', RouteTable: ENI_TABLE, DeviceName: 'eth1', Mtu: 1400 },
      IfName: ifName,
      DefaultRoute: ifName === 'eth0',
    };
    return { Success: true, IPType: 2, IPv4: true, IPv6: this.dual, NetConfs: [conf] };
  }
}

/** Beyond 255 of the next prefix. */
const ipOf = (number: number): string => `192.168.${number >> 8}.${number & 255}`;
