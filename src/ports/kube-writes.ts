/** What a node daemon writes to the API server beside events: parts of its own node, and annotations of its own pods; never anybody else's part. */

export type Taint = {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
};

export type NodeCondition = {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  /** When the status last became what it is, ms since the epoch. */
  readonly transitionMs: number;
};

/** The node as far as we write it. */
export type NodeStanding = {
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Pick<Taint, 'key' | 'effect'>[];
  readonly conditions: readonly (Omit<NodeCondition, 'status'> & { readonly status: string })[];
  /** Quantities as they are written: `110`. */
  readonly capacity: Readonly<Record<string, string>>;
};

/** Methods reject with EnactorError `kubernetes`, or with AbortError. What is there already is written again without harm. */
export interface KubeWrites {
  /** null when there is no such node. */
  readNode(name: string, signal: AbortSignal): Promise<NodeStanding | null>;
  /** Other annotations stay; null removes one. */
  annotateNode(name: string, annotations: Readonly<Record<string, string | null>>, signal: AbortSignal): Promise<void>;
  /** Other conditions stay. */
  setCondition(name: string, condition: NodeCondition, heartbeatMs: number, signal: AbortSignal): Promise<void>;
  /**
   * Puts the taint there, or takes the one of its key and effect away. Others stay: the list is only replaced if nobody has changed the node
   * since it was read, and read anew a few times otherwise.
   */
  setTaint(name: string, taint: Taint, present: boolean, signal: AbortSignal): Promise<void>;
  /** Capacity of an extended resource; the kubelet copies it to what is allocatable. */
  setCapacity(name: string, resource: string, count: number, signal: AbortSignal): Promise<void>;
  /** Rejects when the pod of this name is another one by now. */
  annotatePod(
    pod: { readonly namespace: string; readonly name: string; readonly uid: string },
    annotations: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void>;
}
