/**
 * `/metrics` over TCP, for a Prometheus that cannot reach a unix socket, and the two answers of a kubelet's probes: `/livez` that the daemon
 * answers at all, `/readyz` that pods can have addresses. Nothing else is to be had there, since whoever reaches the node reaches the port.
 */
import { createServer, type Server } from 'node:http';
import { EnactorError } from '../../core/errors.ts';
import { type DebugOptions, type DebugSource, health } from './debug-server.ts';

/** One question at a time is what Prometheus needs; more than a handful at once is somebody else. */
const CONNECTIONS_MAX = 16;
const FROM_ONE_ADDRESS_MAX = 4;
const IDLE_MS = 10_000;

export function metricsServer(source: DebugSource, metrics: DebugOptions['metrics']): Server {
  const server = createServer((request, response) => {
    request.resume();
    const [path] = (request.url ?? '').split('?');
    const told = request.method === 'GET' ? probed(path, source) : null;
    if (told !== null) {
      response.writeHead(told, { 'content-type': 'text/plain' }).end(told === 200 ? 'ok\n' : 'not ready\n');
      return;
    }
    if (metrics === undefined || request.method !== 'GET' || path !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('GET /metrics\n');
      return;
    }
    metrics(source()?.report() ?? null).then(
      (text) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.headersTimeout = IDLE_MS;
  server.requestTimeout = IDLE_MS;
  server.setTimeout(IDLE_MS, (socket) => socket.destroy());
  boundStrangers(server);
  return server;
}

/**
 * Of the node itself everybody is served: the kubelet's probes come from there, and a daemon whose probes go unanswered is ended. So pods, which
 * reach the port as well, must not be able to take all places.
 */
function boundStrangers(server: Server): void {
  const open = new Map<string, number>();
  const count = (address: string, by: number) => open.set(address, (open.get(address) ?? 0) + by);
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    if (address === socket.localAddress) return;
    const all = [...open.values()].reduce((sum, one) => sum + one, 0);
    if (all >= CONNECTIONS_MAX || (open.get(address) ?? 0) >= FROM_ONE_ADDRESS_MAX) {
      socket.destroy();
      return;
    }
    count(address, 1);
    socket.once('close', () => {
      count(address, -1);
      if (open.get(address) === 0) open.delete(address);
    });
  });
}

/** null for what is no probe. Who is missing is told on the debug socket alone. */
function probed(path: string | undefined, source: DebugSource): number | null {
  if (path === '/livez') return 200;
  return path === '/readyz' ? health(source())[0] : null;
}

/** Rejects with EnactorError `invalidArgument` naming the address that is taken or not the node's. */
export function listenAt(server: Server, at: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', ({ message }: Error) =>
      reject(new EnactorError('invalidArgument', `--metrics-listen: ${message}`)),
    );
    server.listen({ ...at, exclusive: true }, resolve);
  });
}
