/** The security groups that ENIs are in, as far as they can keep pods from each other or from an address. */
export type SecurityGroup = {
  readonly securityGroupId: string;
  /** Members of a normal group reach each other by default, those of an enterprise group do not. */
  readonly type: 'normal' | 'enterprise';
  /** Private addresses in it, and how many more it takes; null when the cloud does not tell. */
  readonly addresses: number | null;
  readonly addressesAvailable: number | null;
};

export interface SecurityGroups {
  /** Unknown ids are left out. Rejects with CloudError as the calls of port Cloud do. */
  securityGroups(ids: readonly string[], signal: AbortSignal): Promise<SecurityGroup[]>;
}
