/** The API server, as far as a node daemon asks it: pods of this node, the node, events. */

export type Pod = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** null until it is scheduled. */
  readonly nodeName: string | null;
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly hostNetwork: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** As its status says; the address of the node for a pod in the host's network. */
  readonly podIPs: readonly string[];
  /** When its deletion is due; null while nobody has asked for it. */
  readonly deletionMs: number | null;
  /** Of the controlling owner, such as `StatefulSet`. */
  readonly ownerKind: string | null;
  /** Of the same owner; absent: there is none. */
  readonly ownerName?: string;
  /** Its condition `Ready` is true; absent: it is not. */
  readonly ready?: boolean;
  /** Some container asks for the resource `aliyun/eni`; absent: none does. */
  readonly wantsEni?: boolean;
};

export type Node = {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The prefixes that a node may give to pods itself (VPCIP). */
  readonly podCidrs: readonly string[];
  readonly internalIps: readonly string[];
  /** `alicloud.com region.instance` form: `<region>.<instance id>`; null when no cloud controller has set it. */
  readonly providerId: string | null;
  /** Cordoned: nothing new is scheduled to it. */
  readonly unschedulable: boolean;
};

export type ConfigMapData = Readonly<Record<string, string>>;

/**
 * What a watch tells. `synced` comes first and again whenever the watch had a gap: it holds every pod of the node there is, so a
 * pod that it lacks is gone. `gone` carries the pod's last state.
 */
export type PodWatchEvent =
  | { readonly type: 'synced'; readonly pods: readonly Pod[] }
  | { readonly type: 'changed'; readonly pod: Pod }
  | { readonly type: 'gone'; readonly pod: Pod };

export type KubeEvent = {
  /** A pod is named by namespace, name and, so that `kubectl describe` finds the event, uid; a node by its name. */
  readonly target:
    | { readonly kind: 'pod'; readonly namespace: string; readonly name: string; readonly uid: string | null }
    | { readonly kind: 'node'; readonly name: string; readonly uid: string | null };
  readonly type: 'Normal' | 'Warning';
  /** In CamelCase, at most 128 characters: `AllocIPFailed`. */
  readonly reason: string;
  /** Longer ones are cut at 1,024 bytes. */
  readonly message: string;
  /** How often it has happened since it was last recorded; once when it is left out. */
  readonly times?: number;
};

/** Controllers that tell how many of their pods are ready. */
export const CONTROLLER_KINDS: readonly string[] = ['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job'];

/** Methods reject with EnactorError `kubernetes` (its detail names the call and the server's reason), or with AbortError. */
export interface Kubernetes {
  /** null when there is none of this name. */
  getPod(namespace: string, name: string, signal: AbortSignal): Promise<Pod | null>;
  /** All or nothing: a page that fails fails the list. */
  listNodePods(nodeName: string, signal: AbortSignal): Promise<Pod[]>;
  /**
   * Calls `onEvent` in order until `signal` fires, then resolves; it never rejects. It lives through closed connections, servers that
   * are away and expired versions, with growing pauses in between. `onTrouble` hears of each failure, and null when the watch is open
   * again after one. An event is handed over when the promise of the one before has settled: a slow reader slows the watch, it does
   * not pile up.
   */
  watchNodePods(
    nodeName: string,
    onEvent: (event: PodWatchEvent) => void | Promise<void>,
    signal: AbortSignal,
    onTrouble?: (why: string | null) => void,
  ): Promise<void>;
  getNode(name: string, signal: AbortSignal): Promise<Node | null>;
  /** Of the whole cluster, without reading them. */
  countNodes(signal: AbortSignal): Promise<number>;
  /**
   * Pods of the whole cluster that this controller wants now and that are not ready: at most one where it starts them one after the other. It may
   * be a moment old. null when there is none of this name, or its kind is not of CONTROLLER_KINDS.
   */
  unready(kind: string, namespace: string, name: string, signal: AbortSignal): Promise<number | null>;
  /** Follows one node as `watchNodePods` follows pods: each version there is, null while there is none. */
  watchNode(
    name: string,
    onNode: (node: Node | null) => void | Promise<void>,
    signal: AbortSignal,
    onTrouble?: (why: string | null) => void,
  ): Promise<void>;
  /** The same for the data of one ConfigMap. */
  watchConfigMap(
    namespace: string,
    name: string,
    onData: (data: ConfigMapData | null) => void | Promise<void>,
    signal: AbortSignal,
    onTrouble?: (why: string | null) => void,
  ): Promise<void>;
  /** An event of the same target, type and reason within minutes raises the count of the first, and the newest message stands. */
  recordEvent(event: KubeEvent, signal: AbortSignal): Promise<void>;
}
