/**
 * What may be believed of a report of the cloud that differs from what we know: only that in which the metadata service agrees.
 *
 * OpenAPI answers from replicas, and the metadata service lags; each is wrong for a while, seldom both in the same way. Where there is no
 * second witness the first one is believed as far as its caller goes. Source: design, "One witness never justifies a destructive act".
 */
import type { CloudEni } from './eni.ts';

/** Addresses of one ENI, by family. */
export type Owned = { readonly ipv4: readonly string[]; readonly ipv6: readonly string[] };

export type Belief =
  | { readonly agreed: true; readonly eni: CloudEni | null }
  /** The ENI itself is in dispute. */
  | { readonly agreed: false };

/** @param told by OpenAPI @param known what our book has @param seen by the metadata service; null when it did not answer, or knows no such ENI */
export function believed(told: CloudEni | null, known: Owned, seen: Owned | null): Belief {
  if (seen === null) return { agreed: true, eni: told };
  if (told === null || told.status !== 'InUse') return { agreed: false };
  const ipv4 = both(told.ipv4, known.ipv4, seen.ipv4);
  return { agreed: true, eni: { ...told, ipv4, ipv6: both(told.ipv6, known.ipv6, seen.ipv6) } };
}

/** Whether OpenAPI tells nothing new, so that nobody else need be asked. */
export function isAsKnown(told: CloudEni | null, known: Owned): boolean {
  return told?.status === 'InUse' && isSame(told.ipv4, known.ipv4) && isSame(told.ipv6, known.ipv6);
}

/** In the order told; what is kept against it comes last. */
function both(told: readonly string[], known: readonly string[], seen: readonly string[]): readonly string[] {
  const kept = known.filter((ip) => !told.includes(ip) && seen.includes(ip));
  return [...told.filter((ip) => known.includes(ip) || seen.includes(ip)), ...kept];
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((ip) => b.includes(ip));
