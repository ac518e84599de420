/** Terway's tracing service over what the node tells of itself. Its errors are gRPC Unknown, as the original's are. */
import {
  Metadata,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Tracing } from './tracing.ts';

type Named = { readonly Type?: string; readonly Name?: string };
type Execute = Named & { readonly Command?: string };

export function tracingHandlers(tracing: Tracing): UntypedServiceImplementation {
  return {
    GetResourceTypes: unary(() => ({ TypeNames: tracing.types() })),
    GetResources: unary(({ Name = '' }: Named) => ({ ResourceNames: tracing.names(Name) })),
    GetResourceConfig: unary(({ Type = '', Name = '' }: Named) => ({ Config: tracing.config(Type, Name) })),
    GetResourceTrace: unary(({ Type = '', Name = '' }: Named) => ({ Trace: tracing.trace(Type, Name) })),
    GetResourceMapping: unary(() => tracing.mapping()),
    ResourceExecute: (call: ServerWritableStream<Execute, unknown>) => {
      const { Type = '', Name = '', Command = '' } = call.request;
      try {
        for (const Message of tracing.execute(Type, Name, Command)) call.write({ Message });
        call.end();
      } catch (thrown) {
        call.emit('error', unknown(thrown));
      }
    },
  };
}

function unary<Request>(answer: (request: Request) => unknown) {
  return (call: ServerUnaryCall<Request, unknown>, callback: sendUnaryData<unknown>) => {
    let reply: unknown;
    try {
      reply = answer(call.request);
    } catch (thrown) {
      callback(unknown(thrown));
      return;
    }
    callback(null, reply);
  };
}

function unknown(thrown: unknown) {
  return {
    code: status.UNKNOWN,
    details: thrown instanceof Error ? thrown.message : String(thrown),
    metadata: new Metadata(),
  };
}
