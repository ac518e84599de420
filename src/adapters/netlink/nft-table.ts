/** One expression of a rule, by the kernel's name for it; made by the functions of wire/nftables.ts. */
export type NftExpression = { readonly name: string; readonly data: Buffer };

export type BaseChain = {
  readonly name: string;
  readonly type: 'filter' | 'route' | 'nat';
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
  /** What a packet meets in order. */
  readonly rules: readonly (readonly NftExpression[])[];
};

/** A table of family `inet` that nobody else writes to. */
export type NftTable = {
  readonly name: string;
  /** On every rule, for whoever lists them; tells one form of the table from another. */
  readonly comment: string;
  readonly chains: readonly BaseChain[];
};
