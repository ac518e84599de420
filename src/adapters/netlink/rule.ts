import type { Family } from '../../core/ip.ts';

type Prefix = { readonly ip: string; readonly prefix: number };

export type Mark = { readonly value: number; readonly mask: number };

/** A policy routing rule that looks up a table. */
export type Rule = {
  readonly family: Family;
  readonly priority: number;
  readonly table: number;
  /** null matches any source. */
  readonly source: Prefix | null;
  readonly destination: Prefix | null;
  readonly incoming: string | null;
  /** Bits of a packet's mark that must be as told; null asks for no mark. */
  readonly mark: Mark | null;
  /** Whether it asks for more than that (a port, a user, …), or for the contrary: no rule of ours does. */
  readonly narrower: boolean;
};

export type NewRule = Pick<Rule, 'family' | 'priority' | 'table'> &
  Partial<Pick<Rule, 'source' | 'destination' | 'incoming' | 'mark'>>;

/** What is absent matches anything; the kernel deletes the first rule that fits. */
export type RuleMatch = Pick<Rule, 'family'> & Partial<Omit<NewRule, 'family'>>;
