/** The kubeconfig with which clients reach this server, and what a pod's service account would be given. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { JsonObject } from './kube-object.ts';

export type KubeconfigOptions = {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  readonly user: string;
  /** One of the two ways to say who is calling. */
  readonly credentials: { readonly token: string } | { readonly certificate: string; readonly key: string };
};

/** A kubeconfig is YAML, and JSON is YAML: the value can be written out as it is. */
export function kubeconfig({ url, ca, user, credentials }: KubeconfigOptions): JsonObject {
  const name = 'enactor-lab';
  const who =
    'token' in credentials
      ? { token: credentials.token }
      : { 'client-certificate-data': base64(credentials.certificate), 'client-key-data': base64(credentials.key) };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: user, user: who }],
    contexts: [{ name, context: { cluster: name, user, namespace: 'default' } }],
    'current-context': name,
  };
}

/** Readable by its owner only, since it holds a credential. */
export async function writeKubeconfig(path: string, config: JsonObject): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
