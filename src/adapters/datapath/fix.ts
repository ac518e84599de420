import type { Drift } from '../../core/drift.ts';
import type { NftTable } from '../netlink/nft-table.ts';
import type { Request } from '../netlink/wire/message.ts';
import type { Sysctl } from './sysctl.ts';

/** A drift and what mends it; with none of the three nothing does. */
export type Fix = Omit<Drift, 'outcome'> & {
  readonly requests: readonly Request[];
  readonly settings?: readonly Sysctl[];
  /** A table of nf_tables that takes the place of what is there. */
  readonly filter?: NftTable;
  /** Answers of the kernel that count as done. */
  readonly tolerated?: readonly string[];
};
