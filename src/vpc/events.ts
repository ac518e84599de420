/**
 * What a hypervisor has to know: which device is in which instance, and which addresses the VPC sends to it.
 *
 * Delivered in order and synchronously, while the call or `advance` that caused them runs.
 */
export type AttachedEni = {
  readonly eniId: string;
  readonly mac: string;
  readonly instanceId: string;
  readonly primary: boolean;
  readonly deviceIndex: number;
  readonly vpcId: string;
  readonly vSwitchId: string;
  /** The ENI's own primary address first. */
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  readonly securityGroupIds: readonly string[];
};

type AddressChange = {
  readonly eniId: string;
  readonly mac: string;
  /** null while the ENI is not attached. */
  readonly instanceId: string | null;
  readonly vSwitchId: string;
  readonly ip: string;
};

export type VpcEvent =
  | ({ readonly type: 'attached'; readonly atMs: number } & AttachedEni)
  | {
      readonly type: 'detached';
      readonly atMs: number;
      readonly eniId: string;
      readonly mac: string;
      readonly instanceId: string;
    }
  | ({ readonly type: 'addressAssigned'; readonly atMs: number } & AddressChange)
  | ({ readonly type: 'addressReleased'; readonly atMs: number } & AddressChange)
  | {
      readonly type: 'securityGroupsChanged';
      readonly atMs: number;
      readonly eniId: string;
      readonly securityGroupIds: readonly string[];
    }
  | { readonly type: 'eniCreated'; readonly atMs: number; readonly eniId: string; readonly mac: string }
  | { readonly type: 'eniDeleted'; readonly atMs: number; readonly eniId: string; readonly mac: string };

export type VpcListener = (event: VpcEvent) => void;
