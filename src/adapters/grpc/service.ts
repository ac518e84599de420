/**
 * The service definitions, loaded from the .proto files beside this file: in the source tree, and in dist/ beside the bundle.
 *
 * Names keep their capitals, uint64 travel as text and enums as numbers, as in the JSON form (src/core/wire.ts).
 */
import { fileURLToPath } from 'node:url';
import { loadPackageDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { BACKEND_SERVICE, NODE_SERVICE } from '../../core/wire.ts';

export const TRACING_SERVICE = 'rpc.TerwayTracing';

export const backendService = (): ServiceDefinition => serviceIn('rpc.proto', BACKEND_SERVICE);
export const nodeServiceDefinition = (): ServiceDefinition => serviceIn('node.proto', NODE_SERVICE);
export const tracingService = (): ServiceDefinition => serviceIn('tracing.proto', TRACING_SERVICE);

function serviceIn(file: string, fullName: string): ServiceDefinition {
  const definition = loadSync(fileURLToPath(new URL(`./${file}`, import.meta.url)), {
    keepCase: true,
    longs: String,
    enums: Number,
    arrays: false,
    defaults: false,
    oneofs: false,
  });
  let service: unknown = loadPackageDefinition(definition);
  for (const name of fullName.split('.'))
    service = typeof service === 'object' && service !== null ? (service as Record<string, unknown>)[name] : undefined;
  if (typeof service !== 'function' || !('service' in service)) throw new Error(`${file} has no ${fullName}`);
  return service.service as ServiceDefinition;
}
