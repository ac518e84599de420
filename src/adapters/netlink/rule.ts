import type { Family } from '../../core/ip.ts';

type Prefix = { readonly ip: string; readonly prefix: number };

/** A policy routing rule that looks up a table. */
export type Rule = {
  readonly family: Family;
  readonly priority: number;
  readonly table: number;
  /** null matches any source. */
  readonly source: Prefix | null;
  readonly destination: Prefix | null;
  readonly incoming: string | null;
};

export type NewRule = Pick<Rule, 'family' | 'priority' | 'table'> &
  Partial<Pick<Rule, 'source' | 'destination' | 'incoming'>>;

/** What is absent matches anything; the kernel deletes the first rule that fits. */
export type RuleMatch = Pick<Rule, 'family'> & Partial<Omit<NewRule, 'family'>>;
