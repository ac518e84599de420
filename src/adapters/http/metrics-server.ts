/**
 * `/metrics` over TCP, for a Prometheus that cannot reach a unix socket, and the two answers of a kubelet's probes: `/livez` that the daemon
 * answers at all, `/readyz` that pods can have addresses. Nothing else is to be had there, since whoever reaches the node reaches the port.
 */
import { createServer, type Server } from 'node:http';
import { EnactorError } from '../../core/errors.ts';
import { type DebugOptions, type DebugSource, health } from './debug-server.ts';

/** One question at a time is what Prometheus needs; more than a handful at once is somebody else. */
const CONNECTIONS_MAX = 16;

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
  server.maxConnections = CONNECTIONS_MAX;
  return server;
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
