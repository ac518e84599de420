/**
 * What the kubelet asks a runtime for, from a container of a pod: nothing is added that the manifest does not say, and nothing it says is left out.
 * Source: Kubernetes, pkg/kubelet/kuberuntime: kuberuntime_container.go, security_context.go; pkg/securitycontext/util.go (paths of /proc).
 */
import { posix } from 'node:path';
import type { V1Container, V1Pod } from '@kubernetes/client-node';
import type { ContainerSpec } from '../runtime/cri-client.ts';
import { fieldOf, type LaidVolume } from './pod-volumes.ts';

const MASKED = [
  ...['/proc/asound', '/proc/acpi', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list'],
  ...['/proc/timer_stats', '/proc/sched_debug', '/proc/scsi', '/sys/firmware'],
];
const READ_ONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const CPU_PERIOD_US = 100_000;
const SHARES_PER_CPU = 1_024;

export type Surroundings = {
  readonly pod: V1Pod;
  readonly volumes: readonly LaidVolume[];
  /** Of the API server, as every container is told. */
  readonly services: Readonly<Record<string, string>>;
  readonly attempt: number;
};

/** Throws Error for a volume or a field that is not there. */
export function containerSpec(
  container: V1Container,
  { pod, volumes, services, attempt }: Surroundings,
): ContainerSpec {
  const { name, image = '', command = [], args = [], securityContext: security, resources } = container;
  const said = (container.env ?? []).map(
    (each) => [each.name, each.value ?? fieldOf(pod, each.valueFrom?.fieldRef?.fieldPath ?? '')] as const,
  );
  const environment = new Map([...Object.entries(services), ...said]);
  const expanded = (text: string) => text.replace(/\$\(([^)]+)\)/g, (all, key) => environment.get(key) ?? all);
  return {
    ...{ name, image, attempt, command: command.map(expanded), args: args.map(expanded) },
    envs: [...environment].map(([key, value]) => ({ key, value })),
    log_path: `${name}/${attempt}.log`,
    mounts: (container.volumeMounts ?? [])
      // A mount below another comes after it.
      .toSorted((a, b) => a.mountPath.length - b.mountPath.length)
      .map(({ name: volume, mountPath, readOnly, mountPropagation, subPath }) => {
        const laid = volumes.find((each) => each.name === volume);
        if (laid === undefined) throw new Error(`${name}: there is no volume ${volume}`);
        return {
          container_path: mountPath,
          host_path: subPath === undefined ? laid.hostPath : posix.join(laid.hostPath, subPath),
          readonly: readOnly === true,
          propagation: mountPropagation === 'HostToContainer' ? 'PROPAGATION_HOST_TO_CONTAINER' : 'PROPAGATION_PRIVATE',
        } as const;
      }),
    resources: resourcesOf(resources),
    security_context: {
      capabilities: {
        add_capabilities: security?.capabilities?.add ?? [],
        drop_capabilities: security?.capabilities?.drop ?? [],
      },
      readonly_rootfs: security?.readOnlyRootFilesystem === true,
      no_new_privs: security?.allowPrivilegeEscalation === false,
      ...(security?.runAsUser !== undefined && { run_as_user: { value: security.runAsUser } }),
      ...{ masked_paths: MASKED, readonly_paths: READ_ONLY },
    },
  };
}

function resourcesOf(resources: V1Container['resources']): Record<string, number> {
  const cpu = (said: string | undefined) => (said === undefined ? null : quantity(said));
  const [asked, most] = [cpu(resources?.requests?.cpu), cpu(resources?.limits?.cpu)];
  const memory = resources?.limits?.memory;
  return {
    ...(asked !== null && { cpu_shares: Math.max(2, Math.floor(asked * SHARES_PER_CPU)) }),
    ...(most !== null && { cpu_period: CPU_PERIOD_US, cpu_quota: Math.max(1_000, Math.floor(most * CPU_PERIOD_US)) }),
    ...(memory !== undefined && { memory_limit_in_bytes: quantity(memory) }),
  };
}

const SUFFIX: Readonly<Record<string, number>> = { '': 1, m: 0.001, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** Those that the manifests have. Throws Error for another. */
export function quantity(text: string): number {
  const [, number, suffix = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const factor = SUFFIX[suffix];
  if (number === undefined || factor === undefined) throw new Error(`${text} is no quantity`);
  return Number(number) * factor;
}
