/**
 * What stands for Terway in a cluster: its DaemonSet with its chart's name and affinity, and its ConfigMap. The pod does what Terway's daemon does as far as
 * others see it: it waits for its lock, and holds it; then its plugin and its configuration are on the node. It serves no pods.
 * Source: Terway, charts/terway/templates/terwayd/daemonset.yaml.
 */
import type { ApiServer } from '../../src/lab/apiserver/api-server.ts';
import type { JsonObject, KubeObject } from '../../src/lab/apiserver/kube-object.ts';
import { known } from '../../src/lab/apiserver/resource.ts';
import type { Image } from './images.ts';

const NAMESPACE = 'kube-system';
export const TERWAY_SET = 'terway-eniip';
export const TERWAY_CONFIG = 'eni-config';
export const TERWAY_CONFLIST = 'etc/cni/net.d/10-terway.conflist';
export const TERWAY_PLUGIN = 'opt/cni/bin/terway';

const CONFLIST = { cniVersion: '0.4.0', name: 'terway', plugins: [{ type: 'terway' }] };
/** Our image has Node, and what it needs for flock(2). */
const PROGRAM = `
const fs = require('node:fs');
const koffi = require('/app/node_modules/koffi');
const flock = koffi.load('libc.so.6').func('int flock(int fd, int operation)');
const LOCK_EX_NB = 6;
const held = () => {
  const fd = fs.openSync('/var/run/eni/terwayd.lock', 'a');
  if (flock(fd, LOCK_EX_NB) !== 0) return fs.closeSync(fd), setTimeout(held, 100);
  fs.writeFileSync('/${TERWAY_PLUGIN}', 'Terway’s own', { mode: 0o755 });
  fs.writeFileSync('/${TERWAY_CONFLIST}', ${JSON.stringify(JSON.stringify(CONFLIST))});
  console.log('holds the lock');
};
process.on('SIGTERM', () => process.exit(0));
setInterval(() => {}, 1e9);
held();
`;

/** Nodes get a pod of it as the controller sees fit. Returns how it is taken out of the cluster again. */
export function installTerway({ lifecycle, store }: ApiServer, image: Image): () => void {
  const made = [
    ['configmaps', { metadata: { name: TERWAY_CONFIG }, data: { eni_conf: '{}' } }],
    ['daemonsets', daemonSet(image)],
  ] as const;
  for (const [plural, object] of made) lifecycle.create(known(plural), NAMESPACE, object);
  return () => {
    for (const [plural, { metadata }] of made) {
      const now: KubeObject | null = store.get(known(plural), NAMESPACE, metadata.name);
      const options = { gracePeriodSeconds: null, uid: null, resourceVersion: null };
      if (now !== null) lifecycle.delete(known(plural), now, options);
    }
  };
}

function daemonSet(image: Image): JsonObject & { readonly metadata: JsonObject & { readonly name: string } } {
  const labels = { app: TERWAY_SET };
  const expression = (key: string, operator: string, ...values: readonly string[]) => ({ key, operator, values });
  const matchExpressions = [
    expression('type', 'NotIn', 'virtual-kubelet'),
    expression('kubernetes.io/arch', 'In', 'amd64', 'arm64'),
    expression('kubernetes.io/os', 'In', 'linux'),
  ];
  const required = { nodeSelectorTerms: [{ matchExpressions }] };
  const folders = ['/var/run/eni', '/etc/cni/net.d', '/opt/cni/bin'].map((path, nth) => ({
    name: `folder-${nth}`,
    path,
  }));
  return {
    ...{ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: TERWAY_SET, namespace: NAMESPACE, labels } },
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
      template: {
        metadata: { labels },
        spec: {
          affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
          ...{ hostNetwork: true, terminationGracePeriodSeconds: 5, tolerations: [{ operator: 'Exists' }] },
          containers: [
            {
              ...{ name: 'terway', image: image.name, command: ['/usr/bin/node', '-e', PROGRAM] },
              volumeMounts: folders.map(({ name, path }) => ({ name, mountPath: path })),
            },
          ],
          volumes: folders.map(({ name, path }) => ({ name, hostPath: { path, type: 'DirectoryOrCreate' } })),
        },
      },
    },
  };
}
