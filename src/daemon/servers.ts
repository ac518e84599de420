/** The daemon's three sockets, and the port for Prometheus if there is to be one; bound together and given up together. */
import { grpcServer } from '../adapters/grpc/grpc-server.ts';
import { type TracingParts, tracingOver } from '../adapters/grpc/tracing.ts';
import { type DebugOptions, type DebugSource, debugServer } from '../adapters/http/debug-server.ts';
import { jsonServer } from '../adapters/http/json-server.ts';
import { listenAt, metricsServer } from '../adapters/http/metrics-server.ts';
import { type BoundSocket, bindUnixSocket } from '../adapters/http/unix-socket.ts';
import type { Backend } from '../ports/backend.ts';
import type { Log } from '../ports/log.ts';
import type { Flags } from './flags.ts';

export type Servers = {
  /** Binds anew what somebody has deleted, and tells the paths. Rejects with EnactorError when something else is in its place. */
  restore(): Promise<readonly string[]>;
  /** Takes nobody new; callers that are served stay connected. */
  close(): void;
  /** Cuts every connection. */
  destroy(): void;
};

/** Rejects with EnactorError naming the path; what was bound by then is given up. */
export async function startServers(
  paths: Pick<Flags, 'grpcSocket' | 'jsonSocket' | 'debugSocket' | 'metricsListen' | 'config' | 'kubeconfig'>,
  backend: Backend,
  introspection: DebugSource,
  options: DebugOptions & { readonly log: Log; readonly tracingNow: NonNullable<TracingParts['now']> },
): Promise<Servers> {
  const { log, tracingNow } = options;
  const report = () => introspection()?.report() ?? null;
  const { config: configPath, kubeconfig } = paths;
  const tracing = tracingOver({ report, configPath, kubeconfig, now: tracingNow });
  const grpc = grpcServer(backend, log, tracing);
  const json = jsonServer(backend, log);
  const debug = debugServer(introspection, options);
  const prometheus = metricsServer(introspection, options.metrics);
  const bound: BoundSocket[] = [];
  const close = () => {
    for (const socket of bound) socket.close();
    json.closeIdleConnections();
    debug.closeIdleConnections();
    prometheus.close();
    prometheus.closeIdleConnections();
  };
  try {
    bound.push(await bindUnixSocket(grpc.listener, paths.grpcSocket));
    bound.push(await bindUnixSocket(json, paths.jsonSocket));
    bound.push(await bindUnixSocket(debug, paths.debugSocket));
    if (paths.metricsListen !== null) await listenAt(prometheus, paths.metricsListen);
  } catch (thrown) {
    close();
    grpc.destroy();
    throw thrown;
  }
  return {
    async restore() {
      const restored: string[] = [];
      for (const socket of bound) if (await socket.restore()) restored.push(socket.path);
      return restored;
    },
    close,
    destroy() {
      grpc.destroy();
      json.closeAllConnections();
      debug.closeAllConnections();
      prometheus.closeAllConnections();
    },
  };
}
