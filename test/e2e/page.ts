/**
 * The commands of deploy/'s pages that speak to the cluster, as they stand there, by their page. The e2e run types them, and says which it has not; a
 * test compares with the pages, so that neither is changed alone. Whoever types them says the node's name for NODE.
 */
export const PAGE = {
  apply: 'kubectl apply -k deploy/overlays/eni-multi-ip',
  rolledOut: 'kubectl -n kube-system rollout status ds/enactor',
  pods: 'kubectl -n kube-system get pods -l app=enactor -o wide',
  doctor: 'kubectl -n kube-system exec ds/enactor -- enactor doctor',
  status: 'on_node NODE enactor status',
  bundle: 'on_node NODE enactor support --out - > NODE.json.gz',
  undo: 'kubectl -n kube-system rollout undo ds/enactor',
  installLog: 'kubectl -n kube-system logs ds/enactor -c install',
  enis: 'for pod in $(kubectl -n kube-system get pods -l app=enactor -o name); do kubectl -n kube-system exec $pod -- enactor eni; done',
  remove: 'kubectl delete -k deploy/overlays/eni-multi-ip',
  clean: 'kubectl apply -k deploy/uninstall',
  cleaned: 'kubectl -n kube-system rollout status ds/enactor-uninstall',
  cleanLog: 'kubectl -n kube-system logs ds/enactor-uninstall -c uninstall',
  removeClean: 'kubectl delete -k deploy/uninstall',
} as const;

/** Of deploy/terway.md. */
export const TERWAY = {
  patch: `kubectl -n kube-system patch ds terway-eniip --type json -p '[{"op": "add", "path": "/spec/template/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/-", "value": {"key": "enactor.io/cni", "operator": "NotIn", "values": ["enactor"]}}]'`,
  patched: 'kubectl -n kube-system rollout status ds/terway-eniip',
  apply: PAGE.apply,
  rolledOut: PAGE.rolledOut,
  giveBack: 'kubectl apply -k deploy/give-back',
  allOurs: 'kubectl label nodes --all enactor.io/cni=enactor',
  in: 'kubectl label node NODE enactor.io/cni=enactor',
  who: "kubectl -n kube-system get pods -o wide --field-selector spec.nodeName=NODE -l 'app in (enactor, enactor-give-back, terway-eniip)'",
  leases: 'on_node NODE enactor leases',
  out: 'kubectl label node NODE enactor.io/give-back=true',
  gaveBack: 'kubectl -n kube-system logs ds/enactor-give-back -c give-back',
  theirs: 'kubectl label node NODE enactor.io/cni- enactor.io/give-back-',
  noWayBack: 'kubectl delete -k deploy/give-back',
} as const;

/** Of deploy/operation.md, which defines the function that the others use. */
export const OPERATION = { status: PAGE.status } as const;
export const ON_NODE = `on_node() { pod=$(kubectl -n kube-system get pods -l app=enactor --field-selector spec.nodeName="$1" -o name); shift
  kubectl -n kube-system exec $([ -t 1 ] && echo -it) "$pod" -c enactord -- "$@"; }`;

type Of<T> = T[keyof T];
export type Command = Of<typeof PAGE> | Of<typeof TERWAY> | Of<typeof OPERATION>;
export const COMMANDS: readonly Command[] = [PAGE, TERWAY, OPERATION].flatMap((page) => Object.values<Command>(page));

/** Those that are not: their reader has to fill something in, has a cluster from before, or keys. */
export const NOT_TYPED: readonly string[] = [
  'on_node NODE enactor why NAMESPACE/POD',
  'kubectl -n kube-system delete configmap eni-config',
  'kubectl -n kube-system create secret generic enactor-credentials --from-file=access-key-id --from-file=access-key-secret',
];

/** What this kind of command needs of a kubectl beyond the oldest that can apply. Source: KEP-4006: WebSockets since 1.30. */
export const needsWebSocket = (command: string): boolean => /^on_node | exec /.test(command);
export const WEB_SOCKET_SINCE = 30;
