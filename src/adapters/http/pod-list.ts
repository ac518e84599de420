/** The node's pods as the daemon knows them: those with an address, those that wait, and those that were refused. */
import { podKey, sandboxKey } from '../../core/sandbox.ts';
import type { NodeReport } from '../../ports/introspection.ts';

export type PodRow = {
  /** `namespace/name` */
  readonly pod: string;
  readonly is: 'bound' | 'waiting' | 'refused';
  readonly sandbox: string | null;
  readonly ipv4: string | null;
  readonly ipv6: string | null;
  readonly eniId: string | null;
  readonly sinceMs: number;
  readonly why: string | null;
};

export function podRows({ leases, waiting, refusals = [] }: NodeReport): readonly PodRow[] {
  const nothing = { sandbox: null, ipv4: null, ipv6: null, eniId: null, why: null };
  const bound = leases.map(({ sandbox, grant: { address, eni }, boundAtMs }): PodRow => {
    const { ipv4, ipv6 } = address;
    const own = { pod: podKey(sandbox.pod), sandbox: sandboxKey(sandbox), ipv4, ipv6, eniId: eni.eniId };
    return { ...own, is: 'bound', sinceMs: boundAtMs, why: null };
  });
  const inLine = waiting.map(({ pod, sinceMs, reason }): PodRow => {
    return { ...nothing, pod, is: 'waiting', sinceMs, why: reason };
  });
  const refused = refusals.map(({ pod, atMs, detail }): PodRow => {
    return { ...nothing, pod, is: 'refused', sinceMs: atMs, why: detail };
  });
  return [...bound, ...inLine, ...refused];
}

/** A pod may have more than one sandbox, and one that waits beside it. */
export const podRowKey = ({ pod, is, sandbox }: PodRow): string => `${pod} ${is} ${sandbox ?? ''}`;
