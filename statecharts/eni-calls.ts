/** What the calls of an ENI are told of it. */
import type { Ips } from '../src/core/pairs.ts';
import type { Owned } from '../src/core/two-witnesses.ts';
import type { EniContext } from './eni-context.ts';

export const noIps: Ips = { ipv4: [], ipv6: [] };

export type Named = { readonly slot: number; readonly eniId: string };

export const named = ({ slot, eniId }: EniContext): Named => ({ slot, eniId: eniId ?? '' });

export const looked = (context: EniContext) => ({ ...named(context), takingYet: context.takingYet });

/** Halves of the book that the cloud has to report. */
export const ownedBy = ({ book }: EniContext): Owned => {
  const owned = book.filter((entry) => entry.state !== 'invalid').map((entry) => entry.address);
  return {
    ipv4: owned.map(({ ipv4 }) => ipv4),
    ipv6: owned.flatMap(({ ipv6 }) => (ipv6 === null ? [] : [ipv6])),
  };
};

export const deviceOf = ({ eniId, mac, subnet, mtu, routeTable }: EniContext) => ({
  eniId: eniId ?? '',
  mac: mac ?? '',
  subnet,
  mtu,
  routeTable,
});

export const seeking = ({ mac, times }: EniContext) => ({ mac: mac ?? '', periodMs: times.describePeriodMs });
