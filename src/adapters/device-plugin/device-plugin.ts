/**
 * Offers a resource to the kubelet: serves the list of devices on a socket of its own, registers that with `kubelet.sock`, and does so again
 * whenever the kubelet has started anew. A kubelet that starts empties the directory, so that our socket goes too.
 *
 * The directory is watched, and looked at now and then all the same: inotify tells nothing of a mount that was put over it. A kubelet that does not
 * follow our list a while after it was told of us is told again.
 * Limit: a kubelet whose grpc-go names the socket's path as `:authority` cannot read the list, since Node's HTTP/2 refuses that (cases/field F9).
 * Source: Kubernetes, "Device Plugins"; Terway, deviceplugin/eni.go (names `eni-0`, …; a look at the socket every 30 s).
 */
import { type FSWatcher, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentials } from '@grpc/grpc-js';
import type { EniDevices } from '../../core/eni-devices.ts';
import { failureOf } from '../../core/errors.ts';
import type { Log } from '../../ports/log.ts';
import { bindUnixSocket } from '../http/unix-socket.ts';
import { DeviceServer, PLUGIN_OPTIONS } from './device-server.ts';
import { DEVICE_PLUGIN_VERSION, KUBELET_SOCKET, registrationService } from './kubelet-services.ts';

export type DevicePluginOptions = {
  /** The kubelet's, where `kubelet.sock` is. */
  readonly directory: string;
  /** `aliyun/eni`. */
  readonly resource: string;
  /** The name of our socket in it. */
  readonly endpoint: string;
  /** How devices are named, before their number. */
  readonly prefix: string;
  /** How many there are, and how many of them can be had; null while that is not known, and then nothing is registered. */
  readonly count: () => EniDevices | null;
  readonly log: Log;
  readonly pollMs?: number;
  /** How long a kubelet may take to follow the list before it is told again. */
  readonly patienceMs?: number;
  /** Uniform in [0, 1). */
  readonly fraction?: () => number;
};

const REGISTER_MS = 5_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** Runs until `signal` fires; never rejects. */
export async function offerDevices(options: DevicePluginOptions, signal: AbortSignal): Promise<void> {
  const { pollMs = 5_000, count, log } = options;
  while (count() === null && !signal.aborted)
    await sleep(Math.min(pollMs, 1_000), undefined, { signal }).catch(() => {});
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      await serve(options, signal);
    } catch (error) {
      // No such directory yet, or something else in our socket's place.
      if (failures === 0) log.warn({ failure: failureOf(error) }, 'devices cannot be offered to the kubelet yet');
      await pause(options, failures, signal);
    }
  }
}

async function serve(options: DevicePluginOptions, signal: AbortSignal): Promise<void> {
  const { directory, endpoint, prefix, pollMs = 5_000, patienceMs = 30_000, log, resource } = options;
  // The directory is the kubelet's to make.
  statSync(directory);
  const server = new DeviceServer(prefix, options.count() ?? NONE);
  const bound = await bindUnixSocket(server.listener, join(directory, endpoint));
  const changes = watched(directory);
  let registered = '';
  let registeredMs = 0;
  let failures = 0;
  try {
    while (!signal.aborted) {
      const restored = await bound.restore();
      const { all, usable } = options.count() ?? NONE;
      server.offer({ all, usable });
      const kubelet = identityOf(join(directory, KUBELET_SOCKET));
      const ignored = !server.watched && performance.now() - registeredMs >= patienceMs;
      if (kubelet !== null && (kubelet !== registered || restored || ignored))
        try {
          await register(options, signal);
          registered = kubelet;
          registeredMs = performance.now();
          failures = 0;
          log.info({ resource, devices: all, usable }, 'registered with the kubelet');
        } catch (error) {
          if (signal.aborted) break;
          registered = '';
          if (failures === 0) log.warn({ resource, failure: failureOf(error) }, 'cannot register with the kubelet');
          await pause(options, failures, signal);
          failures += 1;
          continue;
        }
      await Promise.race([sleep(pollMs, undefined, { signal }).catch(() => {}), changes.next()]);
    }
  } finally {
    changes.close();
    bound.close();
    server.destroy();
  }
}

const NONE: EniDevices = { all: 0, usable: 0 };

async function register({ directory, resource, endpoint }: DevicePluginOptions, signal: AbortSignal): Promise<void> {
  const Registration = registrationService();
  const client = new Registration(`unix://${join(directory, KUBELET_SOCKET)}`, credentials.createInsecure(), {
    'grpc.default_authority': 'localhost',
  });
  const request = {
    version: DEVICE_PLUGIN_VERSION,
    endpoint,
    resource_name: resource,
    options: PLUGIN_OPTIONS,
  };
  try {
    await new Promise<void>((resolve, reject) => {
      const deadline = Date.now() + REGISTER_MS;
      const done = (error: Error | null): void => (error === null ? resolve() : reject(error));
      const call = (client as unknown as RegistrationClient).Register(request, { deadline }, done);
      signal.addEventListener('abort', () => call.cancel(), { once: true });
    });
  } finally {
    client.close();
  }
}

type RegistrationClient = {
  Register(request: object, options: { deadline: number }, done: (error: Error | null) => void): { cancel(): void };
};

/** Another one than before when the file was made anew; null when there is none. */
function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev} ${found.ino} ${found.ctimeNs}`;
}

/** Something happened in the directory since the last call. Where it cannot be watched nothing ever does. */
function watched(directory: string): { next(): Promise<void>; close(): void } {
  let wake: () => void = () => {};
  let happened = false;
  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(directory, () => {
      happened = true;
      wake();
    });
    watcher.on('error', () => {});
  } catch {
    // The number of watches is limited.
  }
  return {
    next: () =>
      new Promise((resolve) => {
        wake = () => {
          happened = false;
          resolve();
        };
        if (happened) wake();
      }),
    close: () => watcher?.close(),
  };
}

async function pause({ fraction = Math.random }: DevicePluginOptions, failures: number, signal: AbortSignal) {
  const fullMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 20), MAX_PAUSE_MS);
  await sleep(fullMs * (0.5 + fraction() / 2), undefined, { signal }).catch(() => {});
}
