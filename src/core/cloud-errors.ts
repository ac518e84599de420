/**
 * What each documented code of ECS and VPC means to us, as one table; nobody else looks at codes to decide what a failure is.
 *
 * Codes come with and without a suffix (`Throttling`, `Throttling.User`, `Rejected.Throttling`) and their HTTP status differs
 * between APIs, so only the code counts. A code that is not listed is `cloud`: refused, asking again may help.
 * Source: ECS API 2014-05-26 and VPC API 2016-04-28, "Error codes" of each call; the gateway's common error codes.
 */
import type { ErrorCode } from './errors.ts';

const byCode: Readonly<Record<string, ErrorCode>> = {
  // The vSwitch has no address left: another one may.
  'InvalidVSwitchId.IpNotEnough': 'vSwitchEmpty',
  'QuotaExceeded.PrivateIpAddress': 'vSwitchEmpty',

  // Dual stack cannot be had there: another vSwitch may have it.
  'InvalidVSwitch.Ipv6NotTurnOn': 'ipv6Off',
  'InvalidOperation.Ipv6NotSupport': 'ipv6Off',

  // The rate of calls. The three Throttling forms are matched by pattern below.
  'Rejected.Throttling': 'throttled',

  // The request was made before, failed or differed: asking with the same token never helps.
  IdempotentParameterMismatch: 'tokenSpent',
  IdempotentFailed: 'tokenSpent',

  // Credentials and what they may do: no retry helps until someone changes something.
  'Forbidden.RAM': 'permission',
  'Forbidden.SubUser': 'permission',
  'Forbidden.NotSupportRAM': 'permission',
  'Forbidden.RiskControl': 'permission',
  Forbidden: 'permission',
  NoPermission: 'permission',
  'NoPermission.Tag': 'permission',
  'InvalidUserType.NotSupported': 'permission',
  'Abs.InvalidAccount.NotFound': 'permission',
  'InvalidAccessKeyId.NotFound': 'credentials',
  'InvalidAccessKeyId.Inactive': 'credentials',
  InvalidCredentials: 'permission',
  SignatureDoesNotMatch: 'permission',
  IncompleteSignature: 'permission',
  'InvalidTimeStamp.Expired': 'clockSkew',
  'InvalidTimeStamp.Format': 'permission',
  'InvalidSecurityToken.Expired': 'credentials',
  'InvalidSecurityToken.Malformed': 'credentials',
  'InvalidSecurityToken.MismatchWithAccessKey': 'credentials',
  MissingSecurityToken: 'credentials',
  'Forbidden.FinancialLocked': 'permission',
  InsufficientBalance: 'permission',

  // Passing trouble on the cloud's side or a state that will change.
  ServiceUnavailable: 'cloud',
  InternalError: 'cloud',
  'Operation.Conflict': 'cloud',
  OperationConflict: 'cloud',
  TaskConflict: 'cloud',
  IncorrectVSwitchStatus: 'cloud',
  'InvalidOperation.InvalidEniState': 'cloud',
  'InvalidOperation.InvalidEcsState': 'cloud',

  // Ceilings of the type, the ENI, the account, the group: policy looks at the code, callers see what the cloud said.
  EniPerInstanceLimitExceeded: 'eniQuota',
  'InvalidOperation.EniPerInstanceLimitExceeded': 'eniQuota',
  MaxEniCountExceeded: 'cloud',
  MaxEniPrivateIpsCountExceeded: 'eniFull',
  MaxEniIpv6IpsCountExceeded: 'eniFull',
  'InvalidOperation.Ipv4CountExceeded': 'eniFull',
  'InvalidOperation.Ipv6CountExceeded': 'eniFull',
  SecurityGroupInstanceLimitExceed: 'cloud',
  JoinedGroupLimitExceed: 'cloud',
  'InvalidOperation.EniCountExceeded': 'cloud',

  // What we named is not there, or cannot be.
  MissingParameter: 'cloud',
  InvalidParameter: 'cloud',
  'InvalidParameter.Conflict': 'cloud',
  'InvalidEniId.NotFound': 'cloud',
  'InvalidEcsId.NotFound': 'cloud',
  'InvalidInstanceId.NotFound': 'cloud',
  'InvalidVSwitchId.NotFound': 'cloud',
  'InvalidSecurityGroupId.NotFound': 'cloud',
  'InvalidSecurityGroupId.NotVpc': 'cloud',
  'InvalidIp.IpAssigned': 'cloud',
  'InvalidIp.IpUnassigned': 'cloud',
  'InvalidOperation.AvailabilityZoneMismatch': 'cloud',
  'InvalidOperation.VpcMismatch': 'cloud',
  'InvalidOperation.InvalidEniType': 'cloud',
  'InvalidOperation.EniServiceManaged': 'cloud',
  'InvalidOperation.DetachPrimaryEniNotAllowed': 'cloud',
  'InvalidParameter.EniNotBelongEcs': 'cloud',
};

/** No code at all (an answer that could not be read) is `cloud`. */
export function cloudErrorCode(cloudCode: string): ErrorCode {
  if (Object.hasOwn(byCode, cloudCode)) return byCode[cloudCode] as ErrorCode;
  return /^Throttling(\.|$)/.test(cloudCode) ? 'throttled' : 'cloud';
}

/** The call was turned away before it was looked at, for the key that signed it: another one may do. */
export function refusesKey(cloudCode: string): boolean {
  return /^(InvalidSecurityToken|InvalidAccessKeyId|MissingSecurityToken)(\.|$)/.test(cloudCode);
}

/** The call was turned away before it was looked at, for when it was signed. */
export function refusesTime(cloudCode: string): boolean {
  return cloudCode === 'InvalidTimeStamp.Expired';
}

/**
 * Codes that say "it is already as you want it" to the three calls that take something away.
 * Source: DetachNetworkInterface, DeleteNetworkInterface, UnassignPrivateIpAddresses; Terway treats them alike.
 */
export const alreadyDone = {
  detach: ['InvalidEniId.NotFound', 'InvalidEcsId.NotFound'],
  delete: ['InvalidEniId.NotFound'],
  unassign: ['InvalidEniId.NotFound', 'InvalidIp.IpUnassigned'],
} as const satisfies Record<string, readonly string[]>;
