/**
 * What the kubelet asks a device plugin: which devices there are, now and whenever that changes, and what a container needs that gets some. Ours
 * need nothing: the ENI is brought by the pod's ADD.
 */
import { createServer, type Server as NetServer } from 'node:net';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { type Device, devicePluginService } from './kubelet-services.ts';

type Containers = { readonly container_requests: readonly { readonly devices_ids: readonly string[] }[] };

export class DeviceServer {
  /** To be bound to a path. */
  readonly listener: NetServer;
  /** Kubelets that follow the list at the moment. */
  readonly #watchers = new Set<ServerWritableStream<unknown, unknown>>();
  #devices: readonly Device[];
  readonly #destroy: () => void;

  constructor(devices: readonly Device[]) {
    this.#devices = devices;
    const server = new Server();
    const options = { pre_start_required: false, get_preferred_allocation_available: false };
    const empty = {};
    const answer =
      (reply: object) =>
      (_: unknown, callback: sendUnaryData<unknown>): void =>
        callback(null, reply);
    server.addService(devicePluginService().service, {
      GetDevicePluginOptions: answer(options),
      ListAndWatch: (call: ServerWritableStream<unknown, unknown>) => this.#follow(call),
      Allocate: (call: ServerUnaryCall<Containers, unknown>, callback: sendUnaryData<unknown>) =>
        this.#allocate(call.request, callback),
      PreStartContainer: answer(empty),
    });
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    this.listener = createServer((socket) => injector.injectConnection(socket));
    this.#destroy = () => {
      injector.destroy();
      server.forceShutdown();
    };
  }

  get watched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Tells those who follow, if it is another list. */
  offer(devices: readonly Device[]): void {
    if (JSON.stringify(devices) === JSON.stringify(this.#devices)) return;
    this.#devices = devices;
    for (const watcher of this.#watchers) watcher.write({ devices });
  }

  /** Ends every connection. */
  destroy(): void {
    this.#destroy();
  }

  #follow(call: ServerWritableStream<unknown, unknown>): void {
    this.#watchers.add(call);
    const gone = (): void => void this.#watchers.delete(call);
    call.on('cancelled', gone).on('close', gone).on('error', gone);
    call.write({ devices: this.#devices });
  }

  #allocate({ container_requests: containers }: Containers, callback: sendUnaryData<unknown>): void {
    const unknown = containers
      .flatMap(({ devices_ids: ids }) => ids)
      .find((id) => !this.#devices.some((device) => device.ID === id));
    if (unknown === undefined) callback(null, { container_responses: containers.map(() => ({})) });
    else callback({ code: status.NOT_FOUND, details: `there is no device ${JSON.stringify(unknown)}` });
  }
}
