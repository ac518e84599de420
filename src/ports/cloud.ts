/**
 * The calls of ECS and VPC that a node makes. One method, one API call (lists page inside).
 *
 * Failures are EnactorError (`throttled`, `permission`, `vSwitchEmpty`, `cloudUnreachable`, `cloud`) whose `detail` starts with the
 * cloud's own code and request id; `cloudCode` of the CloudError subclass is what policy may look at.
 */
import type { CloudEni, InstanceLimits, VSwitch } from '../core/eni.ts';
import { EnactorError, type ErrorCode } from '../core/errors.ts';

export class CloudError extends EnactorError {
  /** `InvalidEniId.NotFound`; empty when no answer of the cloud was seen. */
  readonly cloudCode: string;

  constructor(code: ErrorCode, detail: string, cloudCode: string, cause?: unknown) {
    super(code, detail, cause);
    this.cloudCode = cloudCode;
  }
}

export type CreateEni = {
  readonly vSwitchId: string;
  readonly securityGroupIds: readonly string[];
  /** All IPv4s wanted, the primary one included: at least 1. */
  readonly ipv4Count: number;
  readonly ipv6Count: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly description: string;
  /** At most 64 ASCII characters. The same token with the same parameters creates nothing twice. */
  readonly clientToken: string;
  /** As in EniFilter. */
  readonly background?: boolean;
};

export type EniFilter = {
  readonly instanceId?: string;
  readonly eniIds?: readonly string[];
  readonly tags?: Readonly<Record<string, string>>;
  /** Nobody waits for it: every other call goes first, those of other nodes too, and it may wait for minutes. */
  readonly background?: boolean;
};

/** The calls that can wait for their turn before it is settled how much they ask for. */
export type TurnedCall = 'createEni' | 'assignIpv4' | 'assignIpv6';

export interface Cloud {
  /** Names what its limits are of, where they and the prefixes of vSwitches may be remembered over a restart; absent: they may not. */
  readonly keptAs?: string;
  /** Somebody waits: what is looked up as a life begins, and what was to be kept idle, goes now, whatever other nodes need. */
  hurry?(): void;
  /**
   * Resolves when this call about an ENI, or of a Create a vSwitch, may leave; made right then, it waits for its turn no more. So what it asks for
   * is settled by what is wanted when it goes, not minutes before. Rejects as the call does. Absent: it may leave at once.
   */
  turn?(call: TurnedCall, about: string, background: boolean, signal: AbortSignal): Promise<void>;
  instanceLimits(instanceType: string, signal: AbortSignal): Promise<InstanceLimits>;
  vSwitches(ids: readonly string[], signal: AbortSignal): Promise<VSwitch[]>;
  /** Unknown ids are left out. A page that fails fails the listing: a short list would read as "gone". */
  describeEnis(filter: EniFilter, signal: AbortSignal): Promise<CloudEni[]>;
  createEni(wanted: CreateEni, signal: AbortSignal): Promise<CloudEni>;
  /** Resolves when the call was accepted; Describe tells when it is done. */
  attachEni(eniId: string, instanceId: string, signal: AbortSignal): Promise<void>;
  /** "Not found" counts as done, here and in deleteEni and the calls that unassign. */
  detachEni(eniId: string, instanceId: string, signal: AbortSignal): Promise<void>;
  deleteEni(eniId: string, signal: AbortSignal): Promise<void>;
  /** The newly added addresses; may be fewer than asked, in any order. At most 10 a call. */
  assignIpv4(
    eniId: string,
    count: number,
    clientToken: string,
    signal: AbortSignal,
    background?: boolean,
  ): Promise<string[]>;
  unassignIpv4(eniId: string, ips: readonly string[], signal: AbortSignal): Promise<void>;
  /** As the two of IPv4. The cloud has no call for both families. */
  assignIpv6(
    eniId: string,
    count: number,
    clientToken: string,
    signal: AbortSignal,
    background?: boolean,
  ): Promise<string[]>;
  unassignIpv6(eniId: string, ips: readonly string[], signal: AbortSignal): Promise<void>;
}
