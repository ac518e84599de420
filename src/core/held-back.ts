/**
 * An address that nobody may have, since it cannot be told who has it: the store was lost, or the host routes it to a pod that no
 * record tells of. It has a lease of a sandbox that does not exist, in memory alone, until the host and the API server both say that
 * no pod uses it.
 */
import type { EniBinding, Lease } from './lease.ts';
import { LEASE_VERSION } from './lease.ts';
import type { Sandbox, SandboxKey } from './sandbox.ts';
import { DEFAULT_IF_NAME } from './sandbox.ts';

const PREFIX = 'held-back:';
/** No namespace of Kubernetes is called so: it has a colon. */
const NAMESPACE = 'held-back:';

export function heldBackLease(ipv4: string, ipv6: string | null, eni: EniBinding, nowMs: number): Lease {
  const pod = { namespace: NAMESPACE, name: ipv4, uid: null };
  return {
    version: LEASE_VERSION,
    sandbox: { containerId: `${PREFIX}${ipv4}`, ifName: DEFAULT_IF_NAME, netns: '', network: '', pod },
    grant: { address: { ipv4, ipv6 }, eni },
    boundAtMs: nowMs,
  };
}

export function isHeldBack({ containerId }: Pick<Sandbox, 'containerId'>): boolean {
  return containerId.startsWith(PREFIX);
}

/** By the name of its sandbox; null: nobody's. No record on disk tells of it. */
export function isHeldBackFor(sandbox: SandboxKey | null): boolean {
  return sandbox?.startsWith(PREFIX) === true;
}
