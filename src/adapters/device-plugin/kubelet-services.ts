/** The two services of the kubelet's device plugin interface, loaded from the .proto file beside this file, or in dist/ beside the bundle. */
import { fileURLToPath } from 'node:url';
import { loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export const DEVICE_PLUGIN_VERSION = 'v1beta1';
export const KUBELET_SOCKET = 'kubelet.sock';

export type Device = { readonly ID: string; readonly health: 'Healthy' | 'Unhealthy' };

export const registrationService = (): ServiceClientConstructor => serviceNamed('Registration');
export const devicePluginService = (): ServiceClientConstructor => serviceNamed('DevicePlugin');

function serviceNamed(name: string): ServiceClientConstructor {
  const file = fileURLToPath(new URL('./deviceplugin.proto', import.meta.url));
  const loaded = loadPackageDefinition(loadSync(file, { keepCase: true, arrays: true, defaults: true }));
  const found = (loaded[DEVICE_PLUGIN_VERSION] as Record<string, unknown> | undefined)?.[name];
  if (typeof found !== 'function') throw new Error(`deviceplugin.proto has no ${name}`);
  return found as ServiceClientConstructor;
}
