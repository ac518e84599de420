/** Those controllers of a cluster that bring what is applied to the nodes. Kubelets are somebody else: a pod that nobody runs stays Pending. */
import type { ApiServer } from '../apiserver/api-server.ts';
import { known } from '../apiserver/resource.ts';
import { controlDaemonSets } from './daemon-set-controller.ts';
import { collectOwned } from './owner-collector.ts';

/** Until the returned function is called. */
export function startControllers(api: Pick<ApiServer, 'store' | 'lifecycle' | 'ca'>): () => void {
  for (const { metadata } of api.store.list(known('namespaces'), null)) publishAuthority(api, metadata.name);
  const stops = [collectOwned(api), controlDaemonSets(api)];
  return () => {
    for (const stop of stops) stop();
  };
}

/** By which pods know the API server. Source: Kubernetes, pkg/controller/certificates/rootcacertpublisher. */
function publishAuthority({ lifecycle, ca }: Pick<ApiServer, 'lifecycle' | 'ca'>, namespace: string): void {
  lifecycle.create(known('configmaps'), namespace, { metadata: { name: 'kube-root-ca.crt' }, data: { 'ca.crt': ca } });
}
