/** A pod as the lab sees it: what was asked for, its sandbox, and how far it got. */
import type { Netns } from '../netns/netns.ts';
import type { EchoSocket } from '../probe/echo-socket.ts';
import type { CniResult } from './cni-runtime.ts';

export type PodPhase = 'starting' | 'running' | 'stopping' | 'gone' | 'failed';

/** One try at a sandbox; the runtime gives every try a container id and a namespace of its own. */
export type PodSandbox = { readonly containerId: string; readonly netns: Netns; readonly result: CniResult };

export type LabPodOptions = {
  readonly labels?: Readonly<Record<string, string>>;
  /** UDP ports of the node that lead to the pod's echo service, by the portmap plugin. */
  readonly hostPorts?: readonly number[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Extended resources that its container asks for, as `aliyun/eni`. */
  readonly resources?: Readonly<Record<string, string>>;
};

export class LabPod {
  readonly name: string;
  readonly node: string;
  phase: PodPhase = 'starting';
  /** Why the last try failed, in plain words. */
  failure: string | null = null;
  /** Tries at a sandbox that have failed. */
  failedTries = 0;
  /** When it was asked for. */
  readonly sinceMs = Date.now();
  /** How long it may take to start, from when it was asked for. */
  startTimeoutMs: number | null = null;
  sandbox: PodSandbox | null = null;
  echo: EchoSocket | null = null;
  /** From the first try to a working sandbox. */
  startedInMs: number | null = null;

  readonly labels: Readonly<Record<string, string>>;
  readonly hostPorts: readonly number[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly resources: Readonly<Record<string, string>>;

  constructor(name: string, node: string, options: LabPodOptions = {}) {
    const { labels = {}, hostPorts = [], annotations = {}, resources = {} } = options;
    this.name = name;
    this.node = node;
    this.labels = labels;
    this.hostPorts = hostPorts;
    this.annotations = annotations;
    this.resources = resources;
  }

  /** Addresses without their prefix; empty until it runs. */
  get ips(): readonly string[] {
    return (this.sandbox?.result.ips ?? []).map(({ address }) => address.split('/')[0] ?? '');
  }
}
