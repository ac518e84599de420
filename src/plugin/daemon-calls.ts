/**
 * The daemon's methods as the verbs use them: how long each may take, and which failures are tried again.
 *
 * Only a call that cannot have had an effect is repeated (nobody listens: the daemon is restarting); it is given up well
 * within the five seconds in which a refused socket has to be answered.
 */
import { type BackendClient, BackendError } from '../adapters/http/backend-client.ts';
import type { Sandbox } from '../core/sandbox.ts';
import type {
  AllocIPReply,
  Attachment,
  CheckReply,
  GcReply,
  GetInfoReply,
  ReleaseIPReply,
  StatusReply,
} from '../core/wire.ts';
import { CNI_CODE, CniError } from './cni-error.ts';

export type CallLimits = {
  readonly allocMs: number;
  /** Also the roll-back's, after a failed ADD. */
  readonly releaseMs: number;
  readonly infoMs: number;
  readonly eventMs: number;
  readonly gcMs: number;
  readonly statusMs: number;
  /** How long a refused connection is tried again. */
  readonly refusedMs: number;
  readonly retryMs: number;
};

/** ADD at worst: refusedMs + allocMs + releaseMs + eventMs, below PLUGIN_DEADLINE_MS (110 s). DEL with a daemon that hangs: releaseMs. */
export const DEFAULT_CALL_LIMITS: CallLimits = {
  allocMs: 100_000,
  releaseMs: 6_000,
  infoMs: 20_000,
  eventMs: 1_000,
  gcMs: 60_000,
  statusMs: 1_000,
  refusedMs: 2_000,
  retryMs: 50,
};

export class DaemonCalls {
  readonly #client: BackendClient;
  readonly #limits: CallLimits;

  constructor(client: BackendClient, limits: CallLimits = DEFAULT_CALL_LIMITS) {
    this.#client = client;
    this.#limits = limits;
  }

  /** All reject with BackendError. */
  alloc(sandbox: Sandbox, signal: AbortSignal): Promise<AllocIPReply> {
    const request = {
      ...podOf(sandbox),
      Netns: sandbox.netns,
      IfName: sandbox.ifName,
      NetworkName: sandbox.network,
      ...(sandbox.pod.uid === null ? {} : { PodUid: sandbox.pod.uid }),
    };
    const options = { timeoutMs: this.#limits.allocMs, signal };
    return this.#whileRefused(() => this.#client.call('AllocIP', request, options), signal);
  }

  /** `ips`: what was found in its namespace; the daemon asks for it where it knows the sandbox by nothing else. */
  release(
    sandbox: Sandbox,
    reason: string,
    signal?: AbortSignal,
    ips: readonly string[] = [],
  ): Promise<ReleaseIPReply> {
    const request = {
      ...(ips.length > 0 && { PodIPs: ips }),
      ...podOf(sandbox),
      Reason: reason,
      IfName: sandbox.ifName,
      NetworkName: sandbox.network,
      ...(sandbox.netns === '' ? {} : { Netns: sandbox.netns }),
      ...(sandbox.pod.uid === null ? {} : { PodUid: sandbox.pod.uid }),
    };
    const options = { timeoutMs: this.#limits.releaseMs, ...(signal === undefined ? {} : { signal }) };
    return this.#whileRefused(() => this.#client.call('ReleaseIP', request, options), signal);
  }

  /** `ips`: as at release. */
  info(sandbox: Sandbox, signal: AbortSignal, ips: readonly string[] = []): Promise<GetInfoReply> {
    const found = ips.length > 0 && { PodIPs: ips };
    const request = { ...podOf(sandbox), IfName: sandbox.ifName, Netns: sandbox.netns, ...found };
    const options = { timeoutMs: this.#limits.infoMs, signal };
    return this.#whileRefused(() => this.#client.call('GetIPInfo', request, options), signal);
  }

  /** What is wrong with the sandbox as far as the daemon knows. One of an older version knows no such question. */
  async problems(sandbox: Sandbox, signal: AbortSignal): Promise<readonly string[]> {
    const request = { ContainerId: sandbox.containerId, IfName: sandbox.ifName };
    const options = { timeoutMs: this.#limits.infoMs, signal };
    const asked = this.#whileRefused(() => this.#client.call('Check', request, options), signal);
    const reply: CheckReply = await asked.catch((error: unknown) => {
      if (error instanceof BackendError && error.code === 'unimplemented') return {};
      throw error;
    });
    return reply.Problems ?? [];
  }

  gc(network: string, valid: readonly Attachment[], signal: AbortSignal): Promise<GcReply> {
    const request = { NetworkName: network, ValidAttachments: valid };
    const options = { timeoutMs: this.#limits.gcMs, signal };
    return this.#whileRefused(() => this.#client.call('Gc', request, options), signal);
  }

  /** Asked once: whoever wants to know now does not wait for a daemon that is being restarted. */
  status(network: string, signal: AbortSignal): Promise<StatusReply> {
    return this.#client.call('Status', { NetworkName: network }, { timeoutMs: this.#limits.statusMs, signal });
  }

  /** Tells the pod's owner why it has no network. Never rejects and never waits long. */
  failed(sandbox: Sandbox, message: string): Promise<void> {
    return this.#event(POD, sandbox, 'AllocIPFailed', message);
  }

  /** Tells pod and node of a pod that is connected otherwise than configured. Never rejects and never waits long. Source: Terway's reason. */
  async otherwise(sandbox: Sandbox, message: string): Promise<void> {
    await Promise.all([POD, NODE].map((target) => this.#event(target, sandbox, 'VirtualModeChanged', message)));
  }

  async #event(target: number, sandbox: Sandbox, reason: string, message: string): Promise<void> {
    const event = {
      EventTarget: target,
      EventType: 1,
      K8sPodName: sandbox.pod.name,
      K8sPodNamespace: sandbox.pod.namespace,
      Reason: reason,
      Message: message,
    };
    await this.#client.call('RecordEvent', event, { timeoutMs: this.#limits.eventMs }).catch(() => {});
  }

  async #whileRefused<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const tries = Math.ceil(this.#limits.refusedMs / this.#limits.retryMs);
    for (let left = tries; ; left -= 1) {
      try {
        return await work();
      } catch (error) {
        const again = error instanceof BackendError && error.withoutEffect && left > 0 && signal?.aborted !== true;
        if (!again) throw error;
        await new Promise((resolve) => setTimeout(resolve, this.#limits.retryMs));
      }
    }
  }
}

/** Targets of an event. */
const [NODE, POD] = [0, 1];

/** The daemon's own words are the first cause and come first. */
export function daemonFailure(error: unknown, what: string): CniError {
  if (error instanceof CniError) return error;
  const code = error instanceof BackendError ? error.code : 'unknown';
  const message = error instanceof Error ? error.message : String(error);
  return new CniError(CNI_CODE.tryAgainLater, message, `${what} failed: ${code}`, error);
}

function podOf(sandbox: Sandbox): { K8sPodName: string; K8sPodNamespace: string; K8sPodInfraContainerId: string } {
  return {
    K8sPodName: sandbox.pod.name,
    K8sPodNamespace: sandbox.pod.namespace,
    K8sPodInfraContainerId: sandbox.containerId,
  };
}
