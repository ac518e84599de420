/**
 * `/metrics` over TCP, for a Prometheus that cannot reach a unix socket: nothing else is to be had there, since whoever reaches the node
 * reaches the port.
 */
import { createServer, type Server } from 'node:http';
import { EnactorError } from '../../core/errors.ts';
import type { DebugOptions, DebugSource } from './debug-server.ts';

/** One question at a time is what Prometheus needs; more than a handful at once is somebody else. */
const CONNECTIONS_MAX = 16;

export function metricsServer(source: DebugSource, metrics: DebugOptions['metrics']): Server {
  const server = createServer((request, response) => {
    request.resume();
    const [path] = (request.url ?? '').split('?');
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

/** Rejects with EnactorError `invalidArgument` naming the address that is taken or not the node's. */
export function listenAt(server: Server, at: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', ({ message }: Error) =>
      reject(new EnactorError('invalidArgument', `--metrics-listen: ${message}`)),
    );
    server.listen({ ...at, exclusive: true }, resolve);
  });
}
