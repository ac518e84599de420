/**
 * Drives a container runtime as the kubelet does: CRI over gRPC on the runtime's socket.
 *
 * Every call has a deadline, since a runtime that hangs must fail a test and not stop it.
 * Source: k8s.io/cri-api, runtime/v1 (cri.proto beside this file holds the part that is spoken).
 */
import { fileURLToPath } from 'node:url';
import { type Client, credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const CALL_TIMEOUT_MS = 30_000;
/** RunPodSandbox waits for the plugin's ADD, whose own end is 110 s. */
const SANDBOX_TIMEOUT_MS = 120_000;
const EXEC_TIMEOUT_S = 10;

export type Pod = { readonly namespace: string; readonly name: string; readonly uid: string };

export type SandboxStatus = {
  readonly id: string;
  readonly state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
  /** What the plugin's result said; empty when there is none. */
  readonly ip: string;
  readonly additionalIps: readonly string[];
};

/** `bytes`: of the standard output, which may be no text. */
export type ExecResult = {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly bytes: Buffer;
};

export type SandboxOptions = {
  /** How often the pod had a sandbox before. */
  readonly attempt?: number;
  /** It has the node's network, and no plugin is called. */
  readonly hostNetwork?: boolean;
  /** Of the containers' logs; none are kept if not told. */
  readonly logDirectory?: string;
};

/** What a container is started with, in the fields' own names. */
export type ContainerSpec = {
  readonly name: string;
  readonly image: string;
  readonly attempt?: number;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly envs?: readonly { readonly key: string; readonly value: string }[];
  readonly mounts?: readonly {
    readonly container_path: string;
    readonly host_path: string;
    readonly readonly: boolean;
    readonly propagation: 'PROPAGATION_PRIVATE' | 'PROPAGATION_HOST_TO_CONTAINER';
  }[];
  readonly log_path?: string;
  readonly resources?: Readonly<Record<string, number>>;
  readonly security_context?: {
    readonly capabilities: {
      readonly add_capabilities: readonly string[];
      readonly drop_capabilities: readonly string[];
    };
    readonly readonly_rootfs: boolean;
    readonly no_new_privs: boolean;
    readonly run_as_user?: { readonly value: number };
    readonly masked_paths: readonly string[];
    readonly readonly_paths: readonly string[];
  };
};

export type ContainerStatus = {
  readonly state: 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';
  readonly exit_code: number;
  readonly reason: string;
  readonly message: string;
};

/** As the kubelet has them for a pod that asks for no namespace of the node but its network. */
type Namespaces = { readonly network: 'POD' | 'NODE'; readonly pid: 'CONTAINER'; readonly ipc: 'POD' };

type SandboxConfig = {
  readonly metadata: Pod & { readonly attempt: number };
  readonly hostname: string;
  readonly log_directory: string;
  readonly linux: {
    readonly cgroup_parent: string;
    readonly security_context: { readonly namespace_options: Namespaces };
  };
};

type Unary = (
  request: object,
  options: { deadline: Date },
  answered: (error: ServiceError | null, reply: never) => void,
) => void;

export class CriClient {
  readonly #client: Client & Readonly<Record<string, Unary>>;
  readonly #cgroupParent: string;
  /** The config of each sandbox, which CreateContainer has to repeat. */
  readonly #configs = new Map<string, SandboxConfig>();

  constructor(socketPath: string, cgroupParent: string) {
    const definition = loadSync(fileURLToPath(new URL('cri.proto', import.meta.url)), {
      keepCase: true,
      longs: Number,
      enums: String,
      defaults: true,
    });
    // The one cast where untyped code enters: proto-loader builds the service at run time.
    const { runtime } = loadPackageDefinition(definition) as unknown as {
      runtime: { v1: { RuntimeService: new (...args: unknown[]) => Client & Readonly<Record<string, Unary>> } };
    };
    this.#client = new runtime.v1.RuntimeService(`unix://${socketPath}`, credentials.createInsecure());
    this.#cgroupParent = cgroupParent;
  }

  #call<Reply>(method: string, request: object, timeoutMs = CALL_TIMEOUT_MS): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const unary = this.#client[method];
      if (!unary) return reject(new Error(`cri.proto has no ${method}`));
      unary.call(this.#client, request, { deadline: new Date(Date.now() + timeoutMs) }, (error, reply) =>
        error ? reject(new Error(`${method}: ${error.details || error.message}`)) : resolve(reply),
      );
    });
  }

  async version(): Promise<string> {
    const { runtime_name, runtime_version } = await this.#call<{ runtime_name: string; runtime_version: string }>(
      'Version',
      { version: 'v1' },
      2_000,
    );
    return `${runtime_name} ${runtime_version}`;
  }

  /** Condition type to whether it holds: `NetworkReady` turns true when the runtime has read a CNI config. */
  async conditions(): Promise<ReadonlyMap<string, boolean>> {
    type Reply = { status: { conditions: readonly { type: string; status: boolean }[] } };
    // A runtime that is slow to answer is no network that is not ready: the kubelet waits two minutes.
    const { status } = await this.#call<Reply>('Status', {});
    return new Map(status.conditions.map((each) => [each.type, each.status]));
  }

  /** Makes the pod's sandbox, which includes the plugin's ADD, and answers with the sandbox id. */
  async runPodSandbox(
    pod: Pod,
    { attempt = 0, hostNetwork = false, logDirectory = '' }: SandboxOptions = {},
  ): Promise<string> {
    const namespaces: Namespaces = { network: hostNetwork ? 'NODE' : 'POD', pid: 'CONTAINER', ipc: 'POD' };
    const config: SandboxConfig = {
      metadata: { ...pod, attempt },
      // One that has the node's network has the node's name, which the runtime gives it by itself.
      hostname: hostNetwork ? '' : pod.name,
      log_directory: logDirectory,
      linux: { cgroup_parent: this.#cgroupParent, security_context: { namespace_options: namespaces } },
    };
    type Reply = { pod_sandbox_id: string };
    const { pod_sandbox_id } = await this.#call<Reply>('RunPodSandbox', { config }, SANDBOX_TIMEOUT_MS);
    this.#configs.set(pod_sandbox_id, config);
    return pod_sandbox_id;
  }

  async sandboxStatus(sandboxId: string): Promise<SandboxStatus> {
    type Reply = {
      status: {
        id: string;
        state: SandboxStatus['state'];
        network: { ip: string; additional_ips: readonly { ip: string }[] } | null;
      };
    };
    const { status } = await this.#call<Reply>('PodSandboxStatus', { pod_sandbox_id: sandboxId });
    return {
      id: status.id,
      state: status.state,
      ip: status.network?.ip ?? '',
      additionalIps: status.network?.additional_ips.map((each) => each.ip) ?? [],
    };
  }

  /** Where its network namespace is mounted, as the plugin was told. Throws Error for one without. Source: containerd, sandbox_status.go, `info`. */
  async netnsOf(sandboxId: string): Promise<string> {
    type Info = { runtimeSpec: { linux: { namespaces: readonly { type: string; path?: string }[] } } };
    type Reply = { info: Readonly<Record<string, string>> };
    const { info } = await this.#call<Reply>('PodSandboxStatus', { pod_sandbox_id: sandboxId, verbose: true });
    const { runtimeSpec } = JSON.parse(info.info ?? '{}') as Info;
    const path = runtimeSpec.linux.namespaces.find(({ type }) => type === 'network')?.path;
    if (path === undefined) throw new Error(`sandbox ${sandboxId} has no network namespace of its own`);
    return path;
  }

  async listSandboxIds(): Promise<readonly string[]> {
    const { items } = await this.#call<{ items: readonly { id: string }[] }>('ListPodSandbox', {});
    return items.map((each) => each.id);
  }

  /** Ends the pod's processes and calls the plugin's DEL; may be called again. */
  async stopPodSandbox(sandboxId: string): Promise<void> {
    await this.#call('StopPodSandbox', { pod_sandbox_id: sandboxId }, SANDBOX_TIMEOUT_MS);
  }

  /** Removes a sandbox with its containers; one that still runs is stopped first. */
  async removePodSandbox(sandboxId: string): Promise<void> {
    await this.#call('RemovePodSandbox', { pod_sandbox_id: sandboxId }, SANDBOX_TIMEOUT_MS);
    this.#configs.delete(sandboxId);
  }

  /** Creates and starts one container in a sandbox that this client made; answers with the container id. */
  runContainer(sandboxId: string, name: string, image: string, command: readonly string[]): Promise<string> {
    return this.startContainer(sandboxId, { name, image, command });
  }

  /** The same of a container of any kind. Its namespaces are its sandbox's. */
  async startContainer(sandboxId: string, spec: ContainerSpec): Promise<string> {
    const sandbox = this.#configs.get(sandboxId);
    const { name, attempt = 0, image, resources, security_context, ...rest } = spec;
    const { namespace_options } = sandbox?.linux.security_context ?? {};
    const linux = { resources, security_context: { namespace_options, ...security_context } };
    const { container_id } = await this.#call<{ container_id: string }>('CreateContainer', {
      pod_sandbox_id: sandboxId,
      config: { ...rest, metadata: { name, attempt }, image: { image }, linux },
      sandbox_config: sandbox,
    });
    await this.#call('StartContainer', { container_id });
    return container_id;
  }

  async containerStatus(containerId: string): Promise<ContainerStatus> {
    type Reply = { status: ContainerStatus };
    return (await this.#call<Reply>('ContainerStatus', { container_id: containerId })).status;
  }

  /** Asks it to end, and ends it when it has not after so many seconds. */
  async stopContainer(containerId: string, graceS: number): Promise<void> {
    const callMs = CALL_TIMEOUT_MS + graceS * 1_000;
    await this.#call('StopContainer', { container_id: containerId, timeout: graceS }, callMs);
  }

  async removeContainer(containerId: string, graceS = 1): Promise<void> {
    await this.stopContainer(containerId, graceS);
    await this.#call('RemoveContainer', { container_id: containerId });
  }

  /** Runs a command in a container and waits for its end; a non-zero exit code is an answer, not an error. */
  async exec(containerId: string, command: readonly string[]): Promise<ExecResult> {
    type Reply = { stdout: Buffer; stderr: Buffer; exit_code: number };
    const reply = await this.#call<Reply>('ExecSync', {
      container_id: containerId,
      cmd: command,
      timeout: EXEC_TIMEOUT_S,
    });
    const { stdout: bytes, stderr, exit_code: exitCode } = reply;
    return { exitCode, stdout: bytes.toString(), stderr: stderr.toString(), bytes };
  }

  close(): void {
    this.#client.close();
  }
}
