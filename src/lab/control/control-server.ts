/**
 * The running lab's own socket, through which other terminals add pods and look: small JSON over HTTP on a unix socket.
 *
 * GET /v1/status · POST /v1/reboot {node} · POST /v1/pods {name, node?} · DELETE /v1/pods/NAME · POST /v1/probe {from, to} ·
 * POST /v1/path {from, to, family?} · GET /v1/place/NAME ·
 * GET /v1/ledger, the last calls to the cloud · POST /v1/dry {vSwitchId?, dry} · POST /v1/admin {method, path, body?}, to the cloud's admin interface
 * Failures are {error} with 400 (the request cannot be) or 500.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { LedgerEntry } from '../../vpc/ledger.ts';
import { type Trace, tracePath } from '../checks/trace-path.ts';
import { tryPath } from '../checks/try-paths.ts';
import type { AdminAnswer } from '../cloud/admin.ts';
import type { Lab } from '../lab.ts';
import { labStatus } from '../status/lab-status.ts';
import type { ReachabilityWatch } from '../status/reachability.ts';

export const CONTROL_SOCKET = 'lab.sock';
const BODY_MAX_BYTES = 64 * 1024;
const NAME = /^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$/;

/** What the caller asked for cannot be done; the message is for them. */
class RequestError extends Error {
  override readonly name = 'RequestError';
}

/** Calls told of at most. */
const LEDGER_TAIL = 1_000;

export type LedgerTail = { readonly lastSeq: number; readonly entries: readonly LedgerEntry[] };

export type Rebooted = {
  readonly node: string;
  readonly tookMs: number;
  readonly pods: readonly { readonly name: string; readonly ips: readonly string[] }[];
};

export type DriedUp = { readonly vSwitchIds: readonly string[]; readonly dry: boolean };

export type PlaceInfo = { readonly name: string; readonly netns: string; readonly ips: readonly string[] };

export class ControlServer {
  readonly path: string;
  readonly #lab: Lab;
  readonly #watch: ReachabilityWatch;
  readonly #tell: (line: string) => void;
  readonly #server: Server;

  /** `tell` hears of what others did to the lab. */
  constructor(lab: Lab, watch: ReachabilityWatch, tell: (line: string) => void) {
    this.path = `${lab.runDir}/${CONTROL_SOCKET}`;
    this.#lab = lab;
    this.#watch = watch;
    this.#tell = tell;
    this.#server = createServer((request, response) => {
      this.#answer(request).then(
        (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        (error: unknown) => {
          const message = error instanceof Error ? error.message : String(error);
          const status = error instanceof RequestError ? 400 : 500;
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: message }));
        },
      );
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.path, resolve);
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #answer(request: IncomingMessage): Promise<unknown> {
    const [, version, what, name, ...rest] = (request.url ?? '').split('/');
    const call = `${request.method} ${what}`;
    if (version === 'v1' && rest.length === 0) {
      if (call === 'GET status') return labStatus(this.#lab, this.#watch.latest);
      if (call === 'POST pods') return this.#addPod(await bodyOf(request));
      if (call === 'DELETE pods' && name !== undefined) return this.#removePod(decodeURIComponent(name));
      if (call === 'POST reboot') return this.#reboot(await bodyOf(request));
      if (call === 'POST probe') return this.#probe(await bodyOf(request));
      if (call === 'POST path') return this.#path(await bodyOf(request));
      if (call === 'GET ledger') return this.#ledger();
      if (call === 'POST dry') return this.#dry(await bodyOf(request));
      if (call === 'POST admin') return this.#admin(await bodyOf(request));
      if (call === 'GET place' && name !== undefined) return this.#place(decodeURIComponent(name));
    }
    throw new RequestError(`no such call: ${request.method} ${request.url}`);
  }

  async #addPod(body: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { name, node } = body;
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw new RequestError('a pod’s name is up to 52 of a-z, 0-9 and -, with no - at its ends');
    }
    if (node !== undefined && typeof node !== 'string') throw new RequestError('node is the name of one');
    const pod = await this.#lab.addPod(name, node).catch((error: unknown) => {
      this.#tell(error instanceof Error ? error.message : String(error));
      throw error;
    });
    const startedIn = `${Math.round(pod.startedInMs ?? 0)} ms`;
    this.#tell(`pod ${name} runs on ${pod.node} with ${pod.ips.join(', ')} after ${startedIn}`);
    return { name, node: pod.node, ips: pod.ips, startedInMs: pod.startedInMs };
  }

  async #removePod(name: string): Promise<unknown> {
    const pod = this.#lab.pods.get(name);
    if (pod === undefined) throw new RequestError(`no pod ${name}`);
    const { ips } = pod;
    await this.#lab.removePod(name);
    this.#tell(`pod ${name} is gone; ${ips.join(', ')} cools down`);
    return { name, ips };
  }

  async #reboot(body: Readonly<Record<string, unknown>>): Promise<Rebooted> {
    const { node } = body;
    const names = this.#lab.nodes.map(({ name }) => name);
    if (typeof node !== 'string' || !names.includes(node))
      throw new RequestError(`no node ${String(node)}; there are ${names.join(', ')}`);
    this.#tell(`${node} goes down and boots`);
    const beginMs = performance.now();
    const pods = await this.#lab.rebootNode(node);
    const tookMs = performance.now() - beginMs;
    this.#tell(`${node} is back with ${pods.length} pods after ${Math.round(tookMs)} ms`);
    return { node, tookMs, pods: pods.map(({ name, ips }) => ({ name, ips })) };
  }

  async #probe(body: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { from, to } = body;
    if (typeof from !== 'string' || typeof to !== 'string') throw new RequestError('from and to are names');
    return tryPath(this.#lab, { from, to });
  }

  async #path(body: Readonly<Record<string, unknown>>): Promise<Trace> {
    const { from, to, family } = body;
    if (typeof from !== 'string' || typeof to !== 'string') throw new RequestError('from and to are names');
    return tracePath(this.#lab, { from, to, ...(family === 4 || family === 6 ? { family } : {}) });
  }

  #ledger(): LedgerTail {
    const { ledger } = this.#lab.cloud.live.gateway;
    return { lastSeq: ledger.lastSeq, entries: ledger.read(Math.max(0, ledger.lastSeq - LEDGER_TAIL), null) };
  }

  /** From now on the vSwitch, or each, gives out no address more, or gives them out again. */
  #dry(body: Readonly<Record<string, unknown>>): DriedUp {
    const { vSwitchId, dry } = body;
    const { live } = this.#lab.cloud;
    const known = live.model.truth(live.nowMs()).vSwitches.map((one) => one.vSwitchId);
    if (typeof dry !== 'boolean') throw new RequestError('dry is true or false');
    if (vSwitchId !== undefined && !known.some((one) => one === vSwitchId))
      throw new RequestError(`no vSwitch ${String(vSwitchId)}; there are ${known.join(', ')}`);
    const vSwitchIds = known.filter((one) => vSwitchId === undefined || one === vSwitchId);
    const addresses = dry ? Number.MAX_SAFE_INTEGER : 0;
    for (const one of vSwitchIds) live.model.change({ change: 'withhold', vSwitchId: one, addresses }, live.nowMs());
    live.touched();
    this.#tell(
      `${vSwitchIds.join(', ')}: ${dry ? 'no address is given out any more' : 'addresses are given out again'}`,
    );
    return { vSwitchIds, dry };
  }

  async #admin(body: Readonly<Record<string, unknown>>): Promise<AdminAnswer> {
    const { method, path, body: sent } = body;
    if (typeof method !== 'string' || !/^(GET|POST|DELETE)$/.test(method))
      throw new RequestError('method is GET, POST or DELETE');
    if (typeof path !== 'string') throw new RequestError('path is a route of the admin interface, such as truth');
    const [route = '', query] = path.split('?');
    const message = {
      method,
      query: new URLSearchParams(query),
      body: Buffer.from(sent === undefined ? '' : JSON.stringify(sent)),
    };
    const answer = await this.#lab.cloud.admin.ask(message, route);
    if (method !== 'GET') this.#tell(`the cloud was told ${method} ${path}`);
    return answer;
  }

  #place(name: string): PlaceInfo {
    const netns = this.#lab.netnsOf(name);
    if (netns === null) throw new RequestError(`nothing that runs is called ${name}`);
    return { name, netns: netns.path, ips: this.#lab.place(name).ips };
  }
}

async function bodyOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > BODY_MAX_BYTES) throw new RequestError('the request is too long');
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // told below
  }
  throw new RequestError('the request is no JSON object');
}
