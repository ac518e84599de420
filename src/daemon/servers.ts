/** The daemon's three sockets, bound together and given up together. */
import { grpcServer } from '../adapters/grpc/grpc-server.ts';
import { type DebugSource, debugServer } from '../adapters/http/debug-server.ts';
import { jsonServer } from '../adapters/http/json-server.ts';
import { type BoundSocket, bindUnixSocket } from '../adapters/http/unix-socket.ts';
import type { Backend } from '../ports/backend.ts';
import type { Log } from '../ports/log.ts';
import type { Flags } from './flags.ts';

export type Servers = {
  /** The path of a socket that is no longer the file we bound, or null. */
  lost(): string | null;
  /** Takes nobody new; callers that are served stay connected. */
  close(): void;
  /** Cuts every connection. */
  destroy(): void;
};

/** Rejects with EnactorError naming the path; what was bound by then is given up. */
export async function startServers(
  paths: Pick<Flags, 'grpcSocket' | 'jsonSocket' | 'debugSocket'>,
  backend: Backend,
  introspection: DebugSource,
  log: Log,
): Promise<Servers> {
  const grpc = grpcServer(backend, log);
  const json = jsonServer(backend, log);
  const debug = debugServer(introspection);
  const bound: BoundSocket[] = [];
  const close = () => {
    for (const socket of bound) socket.close();
    json.closeIdleConnections();
    debug.closeIdleConnections();
  };
  try {
    bound.push(await bindUnixSocket(grpc.listener, paths.grpcSocket));
    bound.push(await bindUnixSocket(json, paths.jsonSocket));
    bound.push(await bindUnixSocket(debug, paths.debugSocket));
  } catch (thrown) {
    close();
    grpc.destroy();
    throw thrown;
  }
  return {
    lost: () => bound.find((socket) => !socket.stillOurs())?.path ?? null,
    close,
    destroy() {
      grpc.destroy();
      json.closeAllConnections();
      debug.closeAllConnections();
    },
  };
}
