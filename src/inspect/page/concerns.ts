/**
 * What concerns one pod: everything that names it, and everything that names what was seen to be its own (its sandbox, its requests, its
 * address). Pure, but for what it learns.
 */
import type { Inspected } from '../../ports/inspected.ts';
import type { NodeReport } from '../../ports/introspection.ts';

export class Concerns {
  /** `namespace/name` */
  readonly pod: string;
  readonly #own = new Set<string>();

  constructor(pod: string) {
    this.pod = pod;
    this.#own.add(pod);
  }

  learn({ leases }: NodeReport): void {
    for (const { sandbox, grant } of leases)
      if (`${sandbox.pod.namespace}/${sandbox.pod.name}` === this.pod) {
        this.#own.add(`${sandbox.containerId}/${sandbox.ifName}`);
        this.#own.add(grant.address.ipv4);
      }
  }

  /** In the order of their happening: what a later one means may follow from an earlier one. */
  has(seen: Inspected): boolean {
    if (this.hasActor(seen.actor)) return true;
    if (seen.kind !== 'event') return false;
    const { requestId, sandbox, pod, ipv4, lease, grant } = seen.event;
    const named = [requestId, sandboxOf(sandbox), podOf(sandbox) ?? pod, ipv4, ipOf(grant), ...leaseNames(lease)];
    const concerns = named.some((one) => typeof one === 'string' && this.#own.has(one));
    if (concerns) {
      if (typeof requestId === 'string') this.#own.add(requestId);
      const key = sandboxOf(sandbox);
      if (key !== null) this.#own.add(key);
    }
    return concerns || (seen.from !== null && this.hasActor(seen.from));
  }

  /** Its leases' actors: `node/leases/lease:c1/eth0`. */
  hasActor(path: string): boolean {
    const [, sandbox] = /^node\/leases\/lease:(.+)$/.exec(path) ?? [];
    if (sandbox === undefined) return false;
    const [containerId, ifName] = sandbox.split('/');
    return this.#own.has(`${containerId}/${ifName}`);
  }
}

type Loose = { readonly [field: string]: unknown } | null | undefined;

function sandboxOf(sandbox: unknown): string | null {
  if (typeof sandbox === 'string') return sandbox;
  const { containerId, ifName } = (sandbox ?? {}) as { containerId?: string; ifName?: string };
  return containerId === undefined ? null : `${containerId}/${ifName}`;
}

function podOf(sandbox: unknown): string | null {
  if (typeof sandbox !== 'object') return null;
  const { pod } = (sandbox ?? {}) as { pod?: { namespace: string; name: string } };
  return typeof pod !== 'object' ? null : `${pod.namespace}/${pod.name}`;
}

function ipOf(grant: unknown): unknown {
  return ((grant as Loose)?.address as Loose)?.ipv4;
}

function leaseNames(lease: unknown): readonly unknown[] {
  if (typeof lease !== 'object' || lease === null) return [];
  const { sandbox, grant } = lease as { sandbox?: unknown; grant?: unknown };
  return [sandboxOf(sandbox), podOf(sandbox), ipOf(grant)];
}
