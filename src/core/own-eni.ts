/**
 * A pod that has an ENI for itself on a node whose other pods share theirs (VPCENI).
 *
 * Whose an ENI is follows from its book alone: it is a pod's own as long as that pod holds, or was promised, an address of it. So there is nothing beside
 * the leases that a restart could lose, and an ENI that comes back is one like the others, for whoever asks next. Pure.
 * Source: Terway 1.2, annotation `k8s.aliyun.com/ENI`, resource `aliyun/eni`.
 */
import type { Address } from './address.ts';
import { type AddressBook, type Holder, leaving } from './address-book.ts';

export const OWN_ENI_ANNOTATION = 'k8s.aliyun.com/ENI';
/** Counted by the device plugin. */
export const OWN_ENI_RESOURCE = 'aliyun/eni';

/** The host's main table: no rule leads what such a pod sends anywhere. Source: linux/rtnetlink.h, RT_TABLE_MAIN. */
export const OWN_ENI_TABLE = 254;

/** Source: Terway 1.2: every value but these asks for one. */
const NO: readonly string[] = ['', '0', 'false'];

export function asksForOwnEni({
  annotations,
  wantsEni = false,
}: {
  readonly annotations: Readonly<Record<string, string>>;
  readonly wantsEni?: boolean;
}): boolean {
  const said = annotations[OWN_ENI_ANNOTATION]?.trim().toLowerCase() ?? '';
  return wantsEni || !NO.includes(said);
}

/** What kind of network a sandbox has, for people and tools: an address of a shared ENI (or of the node's prefix), or an ENI of its own. */
export type Kind = 'shared' | 'own';

export const kindOf = ({ ownEni }: { readonly ownEni?: true }): Kind => (ownEni === true ? 'own' : 'shared');

/** Some pod has the ENI for itself, or was promised it. */
export function isTaken(book: AddressBook): boolean {
  return book.some((entry) => entry.ownEni === true);
}

/** Nobody has any of its addresses, none rests or is on its way: a pod can have the ENI as it is. */
export function isWhole(book: AddressBook): boolean {
  return book.some((entry) => entry.primary) && book.every((entry) => entry.state === 'idle');
}

/**
 * Promises the ENI: its primary address, which goes only with it; the others are of no use to anybody now, and leave. Null when somebody has, or
 * may yet have, one of its addresses.
 */
export function offeredWhole(
  book: AddressBook,
  { requestId, sandbox, pod }: Holder & { readonly requestId: string },
): { readonly book: AddressBook; readonly address: Address } | null {
  const chosen = isWhole(book) ? book.find((entry) => entry.primary) : undefined;
  if (chosen === undefined) return null;
  const taken = book.map((entry) =>
    entry === chosen ? { ...entry, state: 'offered' as const, requestId, sandbox, pod, ownEni: true as const } : entry,
  );
  return { address: chosen.address, book: leaving(taken, taken.length) };
}
