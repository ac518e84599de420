/** The real client against a server made for one test. */
import { CoreV1Api, KubeConfig, type V1Pod } from '@kubernetes/client-node';
import type { Test } from 'tap';
import { type ApiServer, type ApiServerOptions, startApiServer } from '../../../src/lab/apiserver/api-server.ts';

export type Cluster = { readonly server: ApiServer; readonly config: KubeConfig; readonly api: CoreV1Api };

export async function cluster(t: Test, options: ApiServerOptions = {}): Promise<Cluster> {
  const server = await startApiServer(options);
  t.teardown(() => server.close());
  const config = configOf(server.kubeconfig);
  return { server, config, api: config.makeApiClient(CoreV1Api) };
}

export function configOf(kubeconfig: unknown): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(kubeconfig));
  return config;
}

export function podBody(name: string, more: { nodeName?: string; labels?: Record<string, string> } = {}): V1Pod {
  const { nodeName, labels } = more;
  return {
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec: { containers: [{ name: 'main', image: 'busybox' }], ...(nodeName === undefined ? {} : { nodeName }) },
  };
}

/** The code and the Status reason of a refusal; fails when there is none. */
export async function refusal(call: Promise<unknown>): Promise<{ code: number; reason: string; message: string }> {
  try {
    await call;
  } catch (error) {
    // The client drops the body of a 401.
    const { code, body = '{}' } = error as { code: number; body?: string };
    return { reason: '', message: '', ...JSON.parse(body), code };
  }
  throw new Error('the server did not refuse');
}

/** Resolves when `met` holds; asked again after every turn of a short timer, so a slow machine only takes longer. */
export async function until(met: () => boolean): Promise<void> {
  const endMs = Date.now() + 30_000;
  while (!met()) {
    if (Date.now() > endMs) throw new Error(`never met: ${met}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
