/**
 * What each documented code of ECS, VPC and the gateway means to us, and what is done about it, as one table; nobody else looks at codes.
 *
 * Codes come with and without a suffix (`Throttling`, `Throttling.User`, `Rejected.Throttling`) and their HTTP status differs
 * between APIs, so only the code counts. One that is not listed is taken for passing trouble: refused, asking again may help.
 * Source: ECS API 2014-05-26 and VPC API 2016-04-28, "Error codes" of each call; the gateway's common error codes.
 */
import { type ErrorCode, errorTable } from './errors.ts';

export type CloudAction =
  /** Passing trouble, or a state that will change: asked again after the chart's back-off. */
  | 'again'
  /** Too many calls: the API rests for a while, by chance. */
  | 'slowDown'
  /** Things are not as we believe: they are described before anything else is done. */
  | 'look'
  /** The ClientToken is spent: asked as a new request. */
  | 'anew'
  /** That vSwitch is not asked for a while. */
  | 'holdVSwitch'
  /** No ENI is made for a while. */
  | 'holdEnis'
  /** That ENI gets no more for a while. */
  | 'holdEni'
  /** The key is renewed, and the call signed with the new one and repeated once. */
  | 'renewKey'
  /** Signed anew and repeated once. */
  | 'signAnew'
  /** Only a person can change it: those who wait are told, and it is asked seldom. */
  | 'tell';

type Row = { readonly action: CloudAction; readonly code: ErrorCode; readonly says: string | null };

/** `says`: a sentence for people, in place of the code's own in the error table. */
const rows: Record<string, Row> = {};
function all(action: CloudAction, code: ErrorCode, says: string | null, ...codes: readonly string[]): void {
  for (const one of codes) rows[one] = { action, code, says };
}

all('slowDown', 'throttled', null, 'Throttling', 'Throttling.User', 'Throttling.Api', 'Throttling.DeepPageSkip');
all('slowDown', 'throttled', null, 'Rejected.Throttling');

all('again', 'cloud', null, 'ServiceUnavailable', 'InternalError', 'OperationFailed.SystemBusy');
all('again', 'cloud', null, 'Operation.Conflict', 'OperationConflict', 'TaskConflict', 'IncorrectVSwitchStatus');
all('again', 'cloud', null, 'InvalidOperation.InvalidEcsState', 'IncorrectInstanceStatus', 'IncorrectEipStatus');
all('again', 'cloud', null, 'InvalidBindingStatus', 'InvalidAssociation.Duplicated', 'ReserveIpFail');

all('look', 'cloud', null, 'InvalidOperation.InvalidEniState', 'InvalidEniId.NotFound', 'InvalidEcsId.NotFound');
all(
  'look',
  'cloud',
  null,
  'InvalidInstanceId.NotFound',
  'InvalidParameter.EniNotBelongEcs',
  'InvalidAllocationId.NotFound',
);
all('look', 'cloud', null, 'InvalidIp.IpAssigned', 'InvalidIp.IpUnassigned', 'InvalidIp.IpRepeated', 'Eni.Attached');
all('look', 'cloud', null, 'InvalidPrivateIpAddress.Duplicated', 'InvalidOperation.EniLinked');
all('look', 'cloud', null, 'InvalidOperation.HasMemberEniAttached', 'InvalidOperation.HasSlaveEniBonded');

all('anew', 'tokenSpent', null, 'IdempotentParameterMismatch', 'IdempotentFailed');

all('holdVSwitch', 'vSwitchEmpty', null, 'InvalidVSwitchId.IpNotEnough', 'QuotaExceeded.PrivateIpAddress');
all('holdVSwitch', 'ipv6Off', null, 'InvalidVSwitch.Ipv6NotTurnOn', 'InvalidOperation.Ipv6NotSupport');

all('holdEnis', 'eniQuota', null, 'EniPerInstanceLimitExceeded', 'InvalidOperation.EniPerInstanceLimitExceeded');
all(
  'holdEnis',
  'eniQuota',
  'The account has all the ENIs that it may have in this region: delete unused ones, or ask for a larger quota.',
  'MaxEniCountExceeded',
);
all('holdEnis', 'groupFull', null, 'SecurityGroupInstanceLimitExceed', 'InvalidOperation.EniCountExceeded');
all('holdEni', 'eniFull', null, 'MaxEniPrivateIpsCountExceeded', 'MaxEniIpv6IpsCountExceeded');
all('holdEni', 'eniFull', null, 'InvalidOperation.Ipv4CountExceeded', 'InvalidOperation.Ipv6CountExceeded');

const key = 'The cloud does not take the credentials; enactor doctor tells where they come from.';
all(
  'renewKey',
  'credentials',
  key,
  'InvalidAccessKeyId.NotFound',
  'InvalidAccessKeyId.Inactive',
  'MissingSecurityToken',
);
all('renewKey', 'credentials', key, 'InvalidSecurityToken.Expired', 'InvalidSecurityToken.Malformed');
all('renewKey', 'credentials', key, 'InvalidSecurityToken.MismatchWithAccessKey');
all('tell', 'credentials', key, 'InvalidCredentials');
all('tell', 'permission', 'The access key’s secret is wrong.', 'SignatureDoesNotMatch', 'IncompleteSignature');
all('signAnew', 'cloud', null, 'SignatureNonceUsed');
all('tell', 'clockSkew', null, 'InvalidTimeStamp.Expired');
all('tell', 'internal', 'A fault of this program.', 'InvalidTimeStamp.Format');

const may = 'The credentials may not make this call: give their role the permission that the API’s name tells.';
all('tell', 'permission', may, 'Forbidden.RAM', 'Forbidden.SubUser', 'Forbidden.NotSupportRAM', 'Forbidden');
all('tell', 'permission', may, 'NoPermission', 'NoPermission.Tag', 'InvalidUserType.NotSupported');
const account = 'The account is blocked: its owner has to ask the cloud why.';
all('tell', 'permission', account, 'Forbidden.RiskControl', 'Forbidden.FinancialLocked', 'InsufficientBalance');
all('tell', 'permission', account, 'Abs.InvalidAccount.NotFound', 'InvalidEIPStatus.BizDisabled');

const groups = 'The security groups of the configuration cannot be had on one ENI of this VPC.';
all('tell', 'misconfigured', groups, 'InvalidSecurityGroupId.NotFound', 'InvalidSecurityGroupId.NotVpc');
all('tell', 'misconfigured', groups, 'JoinedGroupLimitExceed', 'InvalidOperation.MultiGroupType');
const where = 'The vSwitch of the configuration is not one of the instance’s VPC and zone.';
all('tell', 'misconfigured', where, 'InvalidVSwitchId.NotFound', 'InvalidOperation.AvailabilityZoneMismatch');
all('tell', 'misconfigured', where, 'InvalidOperation.VpcMismatch', 'InvalidVpc.Empty', 'InvalidVpc.Indeterminacy');
const tags = 'The tags of the configuration are not allowed.';
all('tell', 'misconfigured', tags, 'Duplicate.TagKey', 'InvalidTagKey.Malformed', 'InvalidTagValue.Malformed');
all('tell', 'misconfigured', tags, 'QuotaExceed.Tags', 'InvalidResourceGroup.NotFound');
const endpoint = 'The endpoint is not this API’s, or not of this region.';
all('tell', 'misconfigured', endpoint, 'InvalidAction.NotFound', 'InvalidApi.NotFound', 'InvalidProduct.NotFound');
all(
  'tell',
  'misconfigured',
  endpoint,
  'Forbidden.RegionId',
  'InvalidRegionId.MalFormed',
  'InvalidOperation.InvalidRegion',
);
all('tell', 'misconfigured', endpoint, 'Forbidden.RegionNotFound', 'InvalidVersion.NotFound');

// What this program asks for can never be granted, or it is another's: told, and tried again by the back-off as the ENI is given up.
const owned = 'The ENI belongs to a service of the cloud, or is the primary one.';
all('again', 'cloud', owned, 'InvalidOperation.EniServiceManaged', 'InvalidOperation.ResourceManagedByCloudProduct');
all('again', 'cloud', owned, 'InvalidOperation.InvalidEniType', 'InvalidOperation.DetachPrimaryEniNotAllowed');
const kind = 'The instance type or its state does not allow it.';
all('again', 'cloud', kind, 'InvalidOperation.EniHotPlugNotSupported', 'HotPlugNotSupport');
all('again', 'cloud', kind, 'InvalidOperation.InvalidGeneration', 'InvalidOperation.RegionNotSupportIpPrefix');
all('again', 'cloud', kind, 'InvalidParameter.InvalidEniQueueNumber', 'InvalidOperation.MaxEniQueueNumberExceeded');
all('again', 'cloud', kind, 'InvalidOperation.ExceedInstanceTypeQueueNumber', 'InvalidParameter.EniTrafficMode');
all('again', 'cloud', kind, 'InvalidOperation.HighPerformanceEniPerInstanceLimitExceeded');
all('again', 'cloud', kind, 'InvalidOperation.InstanceTypeNotSupportHighPerformance');
all('again', 'cloud', kind, 'InvalidOperation.EniTrafficModeNotSupportIPv6');
all('again', 'cloud', kind, 'InvalidOperation.MaxEniQueuePairNumberExceed', 'InvalidOperation.InvalidTrunkEniStatus');
all('again', 'cloud', kind, 'InvalidOperation.TrunkingIsNotAllowed', 'InvalidOperation.EniTypeNotSupportTrunking');
all('again', 'cloud', kind, 'InvalidOperation.InstanceTypeNotSupportEniTrunking', 'InvalidParameter.EniNotBelongTrunk');
all(
  'again',
  'cloud',
  null,
  'MissingParameter',
  'InvalidParameter',
  'InvalidParameter.Conflict',
  'UnsupportedParameter',
);
all('again', 'cloud', null, 'InvalidEniId.Malformed', 'InvalidParams.EniId', 'InvalidInstanceID.Malformed');
all('again', 'cloud', null, 'InvalidVSwitchId.IpInvalid', 'InvalidIp.Address', 'InvalidPrivateIpAddress.Malformed');
all('again', 'cloud', null, 'InvalidIp.IpPrefixMaskInvalid', 'InvalidIp.IpPrefixMaskNotSame');
all('again', 'cloud', null, 'InvalidIp.IpPrefixNotStrict', 'InvalidIp.IpPrefixIllegal');
const eip = 'Elastic IPs are not Enactor’s: somebody else has bound one there.';
all(
  'again',
  'cloud',
  eip,
  'QuotaExceeded.Eip',
  'InvalidEip.EipQuotaExceeded',
  'QuotaExceed.MultiBindedEip',
  'Eni.HasSubIp',
);
all('again', 'cloud', eip, 'OperationFailed.EniSubIp', 'Mode.Conflict', 'OperationFailed.EipBindModeConflict');
all('again', 'cloud', eip, 'OperationFailed.IpPrefixConflict', 'UnsupportedFeature.EipBindPrefixIp');

/** Whether the table has a row for it. */
export const isKnownCloudCode = (cloudCode: string): boolean => Object.hasOwn(rows, cloudCode);

/** No code at all (an answer that could not be read) is passing trouble. */
function rowOf(cloudCode: string): Row {
  if (Object.hasOwn(rows, cloudCode)) return rows[cloudCode] as Row;
  if (/^Throttling(\.|$)/.test(cloudCode)) return { action: 'slowDown', code: 'throttled', says: null };
  if (/^InvalidSecurityToken(\.|$)/.test(cloudCode)) return { action: 'renewKey', code: 'credentials', says: key };
  return { action: 'again', code: 'cloud', says: null };
}

export const cloudErrorCode = (cloudCode: string): ErrorCode => rowOf(cloudCode).code;

export const cloudActionOf = (cloudCode: string): CloudAction => rowOf(cloudCode).action;

/** The plain sentence beside the cloud's own; null for passing trouble, of which the cloud's words say enough. */
export function cloudSentence(cloudCode: string): string | null {
  const { action, code, says } = rowOf(cloudCode);
  return says ?? (action === 'again' || action === 'look' || action === 'signAnew' ? null : errorTable[code].sentence);
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
