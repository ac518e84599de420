/**
 * The kubelet's side of the device plugin interface over real gRPC: a registry on kubelet.sock that empties the directory when it starts, dials who
 * registers, follows the list, and allocates.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ClientReadableStream, credentials, Server, ServerCredentials, type ServiceError } from '@grpc/grpc-js';
import { devicePluginService, registrationService } from '../../../src/adapters/device-plugin/kubelet-services.ts';

export type Registered = { version: string; endpoint: string; resource_name: string; options: object | null };
type Plugin = {
  close(): void;
  GetDevicePluginOptions(request: object, done: (error: Error | null, reply: object) => void): void;
  ListAndWatch(request: object): ClientReadableStream<{ devices: readonly { ID: string; health: string }[] }>;
  Allocate(request: object, done: (error: ServiceError | null, reply: object) => void): void;
  GetPreferredAllocation(request: object, done: (error: ServiceError | null, reply: object) => void): void;
  PreStartContainer(request: object, done: (error: ServiceError | null, reply: object) => void): void;
};
type Preferred = { readonly container_responses: readonly { readonly deviceIDs: readonly string[] }[] };

export class KubeletDouble {
  readonly registered: Registered[] = [];
  /** Ids of the newest list. */
  devices: readonly string[] = [];
  lists = 0;
  refuses = false;
  readonly #directory: string;
  readonly #server = new Server();
  readonly #plugins: Plugin[] = [];
  /** Device by pod. */
  readonly #pods = new Map<string, string>();
  readonly #streams: ClientReadableStream<unknown>[] = [];
  /** Whether the list is followed after a registration. */
  readonly #follows: boolean;

  private constructor(directory: string, follows: boolean) {
    this.#directory = directory;
    this.#follows = follows;
  }

  static async start(directory: string, follows = true): Promise<KubeletDouble> {
    mkdirSync(directory, { recursive: true });
    // As the real one does. Source: kubelet, devicemanager, cleanup of the socket directory.
    for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true });
    const made = new KubeletDouble(directory, follows);
    made.#server.addService(registrationService().service, {
      Register: (call: { request: Registered }, done: (error: Error | null, reply?: object) => void) => {
        if (made.refuses) return done(new Error('not now'));
        made.registered.push(call.request);
        done(null, {});
        if (made.#follows) made.#follow(call.request.endpoint);
      },
    });
    await new Promise<void>((resolve, reject) =>
      made.#server.bindAsync(
        `unix://${join(directory, 'kubelet.sock')}`,
        ServerCredentials.createInsecure(),
        (error) => (error === null ? resolve() : reject(error)),
      ),
    );
    return made;
  }

  options(): Promise<object> {
    return this.#asked((plugin, done) => plugin.GetDevicePluginOptions({}, done));
  }

  allocate(...containers: readonly (readonly string[])[]): Promise<object> {
    const container_requests = containers.map((ids) => ({ devices_ids: ids }));
    return this.#asked((plugin, done) => plugin.Allocate({ container_requests }, done));
  }

  /** As the kubelet lets a pod in: of what is healthy and nobody's, as the plugin prefers it. null: there is none. */
  async admit(pod: string): Promise<string | null> {
    const used = [...this.#pods.values()];
    const available = this.devices.flatMap((told) => {
      const [id = '', health] = told.split(' ');
      return health === 'Healthy' && !used.includes(id) ? [id] : [];
    });
    if (available.length === 0) return null;
    const asked = { available_deviceIDs: available, must_include_deviceIDs: [], allocation_size: 1 };
    const { container_responses: answers } = (await this.#asked((plugin, done) =>
      plugin.GetPreferredAllocation({ container_requests: [asked] }, done),
    )) as Preferred;
    const id = answers[0]?.deviceIDs[0] ?? '';
    await this.allocate([id]);
    this.#pods.set(pod, id);
    return id;
  }

  /** Nobody tells the plugin. */
  ended(pod: string): void {
    this.#pods.delete(pod);
  }

  /** How many more it would let in. */
  get room(): number {
    const used = [...this.#pods.values()];
    return this.devices.filter((told) => told.endsWith(' Healthy') && !used.includes(told.split(' ')[0] ?? '')).length;
  }

  preStart(ids: readonly string[]): Promise<object> {
    return this.#asked((plugin, done) => plugin.PreStartContainer({ devices_ids: ids }, done));
  }

  /** Stops following, as after an error of its own. */
  forget(): void {
    for (const stream of this.#streams.splice(0)) stream.cancel();
  }

  /** As a process that ends: its socket file stays. */
  stop(): void {
    this.forget();
    for (const plugin of this.#plugins) plugin.close();
    this.#server.forceShutdown();
  }

  #follow(endpoint: string): void {
    const DevicePlugin = devicePluginService();
    const options = { 'grpc.default_authority': 'localhost' };
    const path = `unix://${join(this.#directory, endpoint)}`;
    const plugin = new DevicePlugin(path, credentials.createInsecure(), options) as unknown as Plugin;
    this.#plugins.push(plugin);
    const stream = plugin.ListAndWatch({});
    this.#streams.push(stream);
    stream.on('data', ({ devices }) => {
      this.lists += 1;
      this.devices = devices.map(({ ID, health }: { ID: string; health: string }) => `${ID} ${health}`);
    });
    stream.on('error', () => {});
  }

  #asked(ask: (plugin: Plugin, done: (error: Error | null, reply: object) => void) => void): Promise<object> {
    const plugin = this.#plugins.at(-1);
    if (plugin === undefined) throw new Error('nobody has registered');
    return new Promise((resolve, reject) => {
      ask(plugin, (error, reply) => (error === null ? resolve(reply) : reject(error)));
    });
  }
}
