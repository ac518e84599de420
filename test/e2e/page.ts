/**
 * The commands of deploy/install.md that speak to the cluster, as they stand there. The e2e run types them, and says which it has not; a test compares
 * with the page, so that neither is changed alone.
 */
export const PAGE = {
  apply: 'kubectl apply -k deploy/overlays/eni-multi-ip',
  rolledOut: 'kubectl -n kube-system rollout status ds/enactor',
  pods: 'kubectl -n kube-system get pods -l app=enactor -o wide',
  doctor: 'kubectl -n kube-system exec ds/enactor -- enactor doctor',
  status: 'kubectl -n kube-system exec ds/enactor -- enactor status',
  undo: 'kubectl -n kube-system rollout undo ds/enactor',
  installLog: 'kubectl -n kube-system logs ds/enactor -c install',
  enis: 'for pod in $(kubectl -n kube-system get pods -l app=enactor -o name); do kubectl -n kube-system exec $pod -- enactor eni; done',
  remove: 'kubectl delete -k deploy/overlays/eni-multi-ip',
  clean: 'kubectl apply -k deploy/uninstall',
  cleaned: 'kubectl -n kube-system rollout status ds/enactor-uninstall',
  cleanLog: 'kubectl -n kube-system logs ds/enactor-uninstall -c uninstall',
  removeClean: 'kubectl delete -k deploy/uninstall',
} as const;

/** Those that are not: their reader has to fill something in, has a cluster from before, or keys. */
export const NOT_TYPED: readonly string[] = [
  'kubectl exec … -- enactor why NAMESPACE/POD',
  'kubectl -n kube-system delete configmap eni-config',
  'kubectl -n kube-system create secret generic enactor-credentials --from-file=access-key-id --from-file=access-key-secret',
];

/** What this kind of command needs of a kubectl beyond the oldest that can apply. Source: KEP-4006: WebSockets since 1.30. */
export const needsWebSocket = (command: string): boolean => / exec /.test(command);
export const WEB_SOCKET_SINCE = 30;
