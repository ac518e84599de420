/**
 * What the kubelet asks a device plugin: which devices there are, now and whenever that changes, which of them a container should get, and what it needs then. Ours
 * need nothing: the ENI is brought by the pod's ADD.
 *
 * A device stands for any ENI, and those that cannot be had are told to be unhealthy. Which they are matters all the same: a pod that has a device which becomes
 * unhealthy is counted no more, and one pod too many is let in. So the kubelet is told to take the first ones, the last ones are unhealthy first, and those that
 * were in use when it last asked come after all others: it asks with what is not in use. Nobody tells of a pod that has ended: of those in use the one that was given
 * out first goes first. Limit: where that is still a pod's, one pod too many may be let in, and is refused with words.
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
import type { EniDevices } from '../../core/eni-devices.ts';
import { plainAuthority } from '../grpc/plain-authority.ts';
import { type Device, devicePluginService } from './kubelet-services.ts';

export const PLUGIN_OPTIONS = { pre_start_required: false, get_preferred_allocation_available: true } as const;

type Containers = { readonly container_requests: readonly { readonly devices_ids: readonly string[] }[] };
type Choices = {
  readonly container_requests: readonly {
    readonly available_deviceIDs: readonly string[];
    readonly must_include_deviceIDs: readonly string[];
    readonly allocation_size: number;
  }[];
};

export class DeviceServer {
  /** To be bound to a path. */
  readonly listener: NetServer;
  /** Kubelets that follow the list at the moment. */
  readonly #watchers = new Set<ServerWritableStream<unknown, unknown>>();
  readonly #prefix: string;
  #offered: EniDevices;
  #devices: readonly Device[] = [];
  /** Those that pods had when the kubelet last asked, and what was given since, the one given first at the front. */
  #used: ReadonlySet<string> = new Set();
  readonly #destroy: () => void;

  constructor(prefix: string, offered: EniDevices) {
    this.#prefix = prefix;
    this.#offered = offered;
    this.#devices = this.#listed();
    const server = new Server();
    const empty = {};
    const answer =
      (reply: object) =>
      (_: unknown, callback: sendUnaryData<unknown>): void =>
        callback(null, reply);
    server.addService(devicePluginService().service, {
      GetDevicePluginOptions: answer(PLUGIN_OPTIONS),
      ListAndWatch: (call: ServerWritableStream<unknown, unknown>) => this.#follow(call),
      Allocate: (call: ServerUnaryCall<Containers, unknown>, callback: sendUnaryData<unknown>) =>
        this.#allocate(call.request, callback),
      GetPreferredAllocation: (call: ServerUnaryCall<Choices, unknown>, callback: sendUnaryData<unknown>) =>
        callback(null, { container_responses: call.request.container_requests.map((one) => this.#preferred(one)) }),
      PreStartContainer: answer(empty),
    });
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    this.listener = createServer((socket) => injector.injectConnection(plainAuthority(socket)));
    this.#destroy = () => {
      injector.destroy();
      server.forceShutdown();
    };
  }

  get watched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Tells those who follow, if it is another list. */
  offer(offered: EniDevices): void {
    this.#offered = offered;
    const devices = this.#listed();
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

  #listed(): readonly Device[] {
    const { all, usable } = this.#offered;
    const ids = Array.from({ length: all }, (_, index) => `${this.#prefix}${index}`);
    const used = [...this.#used].reverse().filter((id) => ids.includes(id));
    const healthy = [...used, ...ids.filter((id) => !this.#used.has(id))].slice(0, usable);
    return ids.map((ID) => ({ ID, health: healthy.includes(ID) ? 'Healthy' : 'Unhealthy' }));
  }

  #preferred({
    available_deviceIDs: available,
    must_include_deviceIDs: must,
    allocation_size: size,
  }: Choices['container_requests'][number]) {
    const order = (id: string): number => this.#devices.findIndex(({ ID }) => ID === id);
    const others = available.filter((id) => !must.includes(id)).sort((a, b) => order(a) - order(b));
    const known = this.#devices.map(({ ID }) => ID).filter((id) => !this.#used.has(id));
    const healthy = this.#devices.flatMap(({ ID, health }) => (health === 'Healthy' ? [ID] : []));
    // Of those that it may not give out it says nothing.
    const stillUsed = (id: string): boolean => (healthy.includes(id) ? !available.includes(id) : this.#used.has(id));
    this.#used = new Set([...this.#used, ...known].filter(stillUsed));
    return { deviceIDs: [...must, ...others].slice(0, size) };
  }

  #allocate({ container_requests: containers }: Containers, callback: sendUnaryData<unknown>): void {
    const unknown = containers
      .flatMap(({ devices_ids: ids }) => ids)
      .find((id) => !this.#devices.some((device) => device.ID === id));
    if (unknown === undefined) {
      const given = containers.flatMap(({ devices_ids: ids }) => ids);
      this.#used = new Set([...[...this.#used].filter((id) => !given.includes(id)), ...given]);
      callback(null, { container_responses: containers.map(() => ({})) });
    } else callback({ code: status.NOT_FOUND, details: `there is no device ${JSON.stringify(unknown)}` });
  }
}
