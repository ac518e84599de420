import type { Drift } from '../../core/drift.ts';
import type { Request } from '../netlink/wire/message.ts';
import type { Sysctl } from './sysctl.ts';

/** A drift and what mends it; with neither requests nor settings nothing does. */
export type Fix = Omit<Drift, 'outcome'> & {
  readonly requests: readonly Request[];
  readonly settings?: readonly Sysctl[];
  /** Answers of the kernel that count as done. */
  readonly tolerated?: readonly string[];
};
