/**
 * Lets go of addresses that are held back (core/held-back.ts) once two witnesses say that no pod uses them: the host routes nothing to
 * them, and no pod of the API server has them. When none is left of those that a lost store cost, the store counts as whole again.
 *
 * Both are asked after the leases were looked at, so that neither answer is older than what it is about.
 */
import { halvesOf } from '../src/core/address.ts';
import { failureOf } from '../src/core/errors.ts';
import { isHeldBack } from '../src/core/held-back.ts';
import type { Allocator } from '../src/ports/allocator.ts';
import type { Host } from '../src/ports/host.ts';
import type { Introspection } from '../src/ports/introspection.ts';
import type { Kubernetes } from '../src/ports/kubernetes.ts';
import type { Log } from '../src/ports/log.ts';
import type { Store } from '../src/ports/store.ts';
import { markWhole } from './claim-store.ts';

export type HeldBackParts = {
  readonly allocator: Allocator;
  readonly introspection: Introspection;
  readonly host: Host;
  readonly kubernetes: Kubernetes;
  readonly store: Store;
  readonly nodeName: string;
  readonly log: Log;
};

/** One pass. Resolves to how many addresses are held back yet. Never rejects: what cannot be asked is asked at the next pass. */
export async function letHeldBackGo(parts: HeldBackParts, signal: AbortSignal): Promise<number> {
  const { allocator, introspection, host, kubernetes, store, nodeName, log } = parts;
  const held = introspection.report().leases.filter(({ sandbox }) => isHeldBack(sandbox));
  if (held.length === 0) return 0;
  let left = held.length;
  try {
    const [onHost, pods] = await Promise.all([host.pods(), kubernetes.listNodePods(nodeName, signal)]);
    // A pod in the host's network has the node's address, which is none of ours; a finished one has let go of its own.
    const using = pods.filter(({ phase, hostNetwork }) => !hostNetwork && phase !== 'Succeeded' && phase !== 'Failed');
    const used = new Set([...onHost.flatMap(({ ips }) => ips), ...using.flatMap(({ podIPs }) => podIPs)]);
    for (const { sandbox, grant } of held) {
      if (signal.aborted) return left;
      if (halvesOf(grant.address).some((ip) => used.has(ip))) continue;
      await allocator.release({ ...sandbox, reason: 'no pod has the address that was held back' }, signal);
      left -= 1;
    }
    if (left === 0) await markWhole(store);
    if (left < held.length) log.info({ freed: held.length - left, left }, 'addresses are held back no longer');
  } catch (thrown) {
    if (!signal.aborted) log.warn({ heldBack: left, failure: failureOf(thrown) }, 'addresses stay held back');
  }
  return left;
}
