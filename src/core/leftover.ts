/**
 * What a sandbox may have left on the host: written in the batch that releases its lease, deleted when the host was looked at after the
 * grace and has nothing of it any more. So whatever happens in between, a restart of ours above all, somebody knows whose it was: its
 * address may be another ENI's by then, and a rule without a device tells nobody whose it is. Pure.
 */
import type { Lease } from './lease.ts';
import type { Sandbox } from './sandbox.ts';

export const LEFTOVER_VERSION = 1;

export type Leftover = {
  readonly version: typeof LEFTOVER_VERSION;
  readonly sandbox: Pick<Sandbox, 'containerId' | 'ifName' | 'pod'>;
  readonly ips: readonly string[];
  readonly releasedAtMs: number;
};

export function leftoverOf({ sandbox, grant: { address } }: Lease, nowMs: number): Leftover {
  const { containerId, ifName, pod } = sandbox;
  const ips = address.ipv6 === null ? [address.ipv4] : [address.ipv4, address.ipv6];
  return { version: LEFTOVER_VERSION, sandbox: { containerId, ifName, pod }, ips, releasedAtMs: nowMs };
}

/** null for a record of another version or shape: nobody can tell what it was about. */
export function parseLeftover(value: unknown): Leftover | null {
  const record = value as Partial<Leftover> | null;
  if (typeof record !== 'object' || record?.version !== LEFTOVER_VERSION) return null;
  const { containerId, ifName, pod } = (record.sandbox ?? {}) as Partial<Leftover['sandbox']>;
  if (typeof containerId !== 'string' || typeof ifName !== 'string' || typeof pod?.name !== 'string') return null;
  const isWhole = Array.isArray(record.ips) && record.ips.every((ip) => typeof ip === 'string');
  return isWhole && typeof record.releasedAtMs === 'number' ? (record as Leftover) : null;
}
