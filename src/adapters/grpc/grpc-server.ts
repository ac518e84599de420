/**
 * The backend over gRPC, for Terway's plugins and anything generated from rpc.proto or node.proto. Plaintext, over connections that somebody else
 * accepted: grpc-js would bind the socket by its own rules.
 *
 * Terway's daemon answered almost every error as Unknown and its plugins look at the text alone; here the status is the table's, the
 * text keeps the form `code: X, msg: Y`.
 */
import { createServer, type Server as NetServer } from 'node:net';
import { Metadata, Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { errorTable, failureOf, failureText } from '../../core/errors.ts';
import type { BackendMethod } from '../../core/wire.ts';
import type { Backend } from '../../ports/backend.ts';
import type { Log } from '../../ports/log.ts';
import { dispatch, isBackendMethod, REQUEST_MAX_BYTES } from '../http/dispatcher.ts';
import { plainAuthority } from './plain-authority.ts';
import { backendService, nodeServiceDefinition, tracingService } from './service.ts';
import type { Tracing } from './tracing.ts';
import { tracingHandlers } from './tracing-handlers.ts';

export type GrpcServer = {
  /** To be bound to a path. */
  readonly listener: NetServer;
  /** Ends every connection, answered or not. */
  destroy(): void;
};

/** `tracing`: what Terway's tracing service is to tell; without it there is none. */
export function grpcServer(backend: Backend, log: Log, tracing: Tracing | null = null): GrpcServer {
  const server = new Server({ 'grpc.max_receive_message_length': REQUEST_MAX_BYTES });
  for (const service of [backendService(), nodeServiceDefinition()]) {
    const handlers = Object.keys(service)
      .filter(isBackendMethod)
      .map((method) => [method, handler(backend, method, log)] as const);
    server.addService(service, Object.fromEntries(handlers));
  }
  if (tracing !== null) server.addService(tracingService(), tracingHandlers(tracing));
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener = createServer((socket) => injector.injectConnection(plainAuthority(socket)));
  return {
    listener,
    destroy() {
      injector.destroy();
      server.forceShutdown();
    },
  };
}

function handler(backend: Backend, method: BackendMethod, log: Log) {
  return (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>) => {
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    if (call.cancelled) gone.abort();
    const deadlineMs = Number(call.getDeadline());
    const timeoutMs = Number.isFinite(deadlineMs) ? deadlineMs - Date.now() : null;
    dispatch(backend, method, method === 'Gc' ? gcRequestOf(call.request) : call.request, {
      timeoutMs,
      gone: gone.signal,
      trace: call.metadata.get('traceparent')[0]?.toString(),
    }).then(
      (reply) => callback(null, reply),
      (thrown: unknown) => {
        const failure = failureOf(thrown);
        if (failure.code === 'internal') log.error({ err: thrown, method }, 'a request met a fault of the daemon');
        const code = grpcStatusOf(errorTable[failure.code].status);
        callback({ code, details: failureText(failure), metadata: new Metadata() });
      },
    );
  };
}

/** An empty list does not travel in proto3: alone, it must not mean that nothing is valid. */
function gcRequestOf(request: unknown): unknown {
  const { NothingIsValid: nothing, ...asked } = request as Readonly<Record<string, unknown>>;
  return nothing === true ? { ValidAttachments: [], ...asked } : asked;
}

/** `canceled` is spelt with one l on the wire of Connect and with two in gRPC. */
function grpcStatusOf(connectCode: string): status {
  const name = connectCode === 'canceled' ? 'CANCELLED' : connectCode.toUpperCase();
  return name in status ? status[name as keyof typeof status] : status.UNKNOWN;
}
