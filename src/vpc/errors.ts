/**
 * Every error the simulated cloud can answer with, once: the HTTP status and the sentence of its body.
 *
 * The same code has another status in some APIs (`statusIn`). `early` marks refusals that come before the request is looked
 * at, so they do not use up a ClientToken. `{0}`, `{1}` in a sentence are filled in by the thrower.
 * Source: ECS 2014-05-26 and VPC 2016-04-28 error lists (documents of 2021 and the texts of the SDK).
 */
type ErrorRow = {
  readonly status: number;
  readonly message: string;
  readonly statusIn?: Readonly<Record<string, number>>;
  readonly early?: true;
};

const rows = {
  // the gateway
  Throttling: { status: 400, message: 'Request was denied due to request throttling.', early: true },
  'Throttling.User': { status: 400, message: 'Request was denied due to user flow control.', early: true },
  'Throttling.Api': { status: 400, message: 'Request was denied due to api flow control.', early: true },
  ServiceUnavailable: {
    status: 503,
    message: 'The request has failed due to a temporary failure of the server.',
    early: true,
  },
  InternalError: { status: 500, message: 'The request processing has failed due to some unknown error.' },
  'InvalidAction.NotFound': {
    status: 404,
    message: 'Specified api is not found, please check your url and method.',
    early: true,
  },
  'InvalidVersion.NotFound': { status: 404, message: 'Specified version is not found: {0}.', early: true },
  SignatureDoesNotMatch: {
    status: 400,
    message: 'Specified signature is not matched with our calculation. server string to sign is: {0}',
    early: true,
  },
  IncompleteSignature: {
    status: 400,
    message: 'The request signature does not conform to Aliyun standards. {0}',
    early: true,
  },
  SignatureNonceUsed: { status: 400, message: 'Specified signature nonce was used already.', early: true },
  'InvalidTimeStamp.Expired': { status: 400, message: 'Specified time stamp or date value is expired.', early: true },
  'InvalidTimeStamp.Format': {
    status: 400,
    message: 'Specified time stamp or date value is not well formatted.',
    early: true,
  },
  'InvalidAccessKeyId.NotFound': { status: 404, message: 'Specified access key is not found.', early: true },
  'InvalidAccessKeyId.Inactive': { status: 400, message: 'Specified access key is disabled.', early: true },
  MissingSecurityToken: { status: 400, message: 'SecurityToken is mandatory for this action.', early: true },
  'InvalidSecurityToken.Expired': { status: 400, message: 'Specified SecurityToken is expired.', early: true },
  'InvalidSecurityToken.Malformed': { status: 400, message: 'Specified SecurityToken is malformed.', early: true },
  'InvalidSecurityToken.MismatchWithAccessKey': {
    status: 400,
    message: 'Specified SecurityToken mismatch with the AccessKey.',
    early: true,
  },
  'Forbidden.RAM': {
    status: 403,
    message: "User not authorized to operate on the specified resource, or this API doesn't support RAM.",
    early: true,
  },
  IdempotentParameterMismatch: {
    status: 400,
    message: 'The request uses the same client token as a previous, but non-identical request.',
    early: true,
  },
  IdempotentFailed: { status: 400, message: 'The request with this client token has failed.', early: true },

  // parameters
  MissingParameter: {
    status: 400,
    message: 'The input parameter "{0}" that is mandatory for processing this request is not supplied.',
    statusIn: { AssignPrivateIpAddresses: 403, UnassignPrivateIpAddresses: 403 },
  },
  'MissingParameter.RegionId': { status: 404, message: 'The specified RegionId is missing.' },
  'MissingParameter.ResourceType': { status: 404, message: 'The specified ResourceType is missing.' },
  'MissingParameter.ResourceIds': { status: 404, message: 'The specified ResourceIds is missing.' },
  'MissingParameter.Tags': { status: 404, message: 'The specified Tags is missing.' },
  InvalidParameter: { status: 400, message: 'The specified parameter "{0}" is not valid.' },
  'InvalidParameter.Conflict': { status: 400, message: 'The parameters {0} cannot be given together.' },
  UnsupportedParameter: { status: 400, message: 'The parameter "{0}" is not supported.' },
  'Forbidden.RegionId': {
    status: 400,
    message: 'The specified region does not support this operation: {0}.',
    statusIn: { AssignIpv6Addresses: 403, UnassignIpv6Addresses: 403 },
  },
  'InvalidInstanceIds.Malformed': { status: 400, message: 'The specified InstanceIds are not valid.' },
  'InvalidStatus.NotFound': { status: 404, message: 'The specified status is not found: {0}.' },

  // network interfaces
  'InvalidEniId.NotFound': { status: 404, message: 'The specified EniId is not found.' },
  'InvalidEcsId.NotFound': { status: 404, message: 'The specified EcsId is not found.' },
  'InvalidInstanceId.NotFound': {
    status: 404,
    message: 'The specified InstanceId does not exist.',
    statusIn: { AttachNetworkInterface: 403, DetachNetworkInterface: 403 },
  },
  'InvalidOperation.InvalidEniState': {
    status: 400,
    message:
      'The operation is not allowed in the current ENI state. Expecting status is "{0}" while current status is "{1}".',
  },
  'InvalidOperation.InvalidEcsState': {
    status: 400,
    message: 'The operation is not allowed in the current ECS state.',
  },
  'InvalidOperation.InvalidEniType': { status: 403, message: 'The type of the ENI does not support this operation.' },
  'InvalidOperation.DetachPrimaryEniNotAllowed': {
    status: 400,
    message: 'Detaching primary ENI from ECS instance is not allowed.',
  },
  'InvalidParameter.EniNotBelongEcs': {
    status: 400,
    message: 'The specified ENI is not attached to the specified ECS.',
  },
  'InvalidOperation.AvailabilityZoneMismatch': {
    status: 403,
    message: 'The specified ENI and ECS instance are not in the same availability zone.',
  },
  'InvalidOperation.VpcMismatch': {
    status: 403,
    message: 'The specified ENI and ECS instance are not in the same VPC.',
  },
  'InvalidOperation.EniServiceManaged': {
    status: 403,
    message: 'The operation is not allowed on an ENI managed by a cloud service.',
  },
  EniPerInstanceLimitExceeded: {
    status: 403,
    message: 'The number of ENI exceeds the limit for the type of instance.',
  },
  MaxEniCountExceeded: { status: 403, message: 'The maximum number of ENIs of the region is exceeded: {0}.' },
  MaxEniPrivateIpsCountExceeded: {
    status: 403,
    message: 'The maximum number of private IP addresses on one ENI is exceeded.',
  },
  MaxEniIpv6IpsCountExceeded: {
    status: 403,
    message: 'The maximum number of IPv6 addresses on one ENI is exceeded.',
  },
  'InvalidOperation.Ipv4CountExceeded': {
    status: 403,
    message: 'The number of IPv4 addresses exceeds what the instance type allows on one ENI.',
  },
  'InvalidOperation.Ipv6CountExceeded': {
    status: 403,
    message: 'The number of IPv6 addresses exceeds what the instance type allows on one ENI.',
  },
  'InvalidOperation.Ipv6NotSupport': { status: 403, message: 'The instance type does not support IPv6.' },
  'InvalidOperation.RegionNotSupportIpPrefix': {
    status: 500,
    message: 'IP prefixes are not supported in this region.',
  },
  'Operation.Conflict': { status: 403, message: 'ecs task is conflicted.', early: true },
  'InvalidIp.Address': { status: 403, message: 'The specified IP "{0}" is not an address.' },
  'InvalidIp.IpAssigned': { status: 403, message: 'The specified IP "{0}" is already assigned.' },
  'InvalidIp.IpUnassigned': { status: 403, message: 'The specified IP "{0}" is not assigned on this ENI.' },
  'InvalidIp.IpRepeated': { status: 403, message: 'The specified IP "{0}" is repeated.' },

  // subnets and groups
  'InvalidVpcID.NotFound': { status: 404, message: 'The specified VPC does not exist.' },
  'InvalidVSwitchId.NotFound': { status: 404, message: 'The specified VSwitch does not exist.' },
  'InvalidVSwitchId.IpNotEnough': {
    status: 403,
    message: 'The specified VSwitch "{0}" has not enough IpAddress.',
  },
  'InvalidVSwitchId.IpInvalid': {
    status: 403,
    message: 'The specified IP "{0}" is not a usable address of the VSwitch "{1}".',
  },
  'InvalidVSwitch.Ipv6NotTurnOn': { status: 403, message: 'IPv6 is not turned on for the VSwitch "{0}".' },
  'QuotaExceeded.PrivateIpAddress': { status: 400, message: 'The private IP addresses of the VSwitch are used up.' },
  'InvalidSecurityGroupId.NotFound': { status: 404, message: 'The specified SecurityGroupId does not exist: {0}.' },
  'InvalidSecurityGroupId.NotVpc': { status: 403, message: 'The security group {0} is not of the same VPC.' },
  SecurityGroupInstanceLimitExceed: {
    status: 403,
    message: 'The maximum number of instances in a security group is exceeded.',
  },
  JoinedGroupLimitExceed: { status: 400, message: 'The ENI cannot join more than {0} security groups.' },
  'InvalidOperation.MultiGroupType': {
    status: 403,
    message: 'Normal and enterprise security groups cannot be mixed on one ENI.',
  },

  // tags
  'Duplicate.TagKey': { status: 400, message: 'The tag key "{0}" is given twice.' },
  'InvalidTagKey.Malformed': { status: 400, message: 'The tag key "{0}" is not valid.' },
  'InvalidTagValue.Malformed': { status: 400, message: 'The tag value "{0}" is not valid.' },
  'QuotaExceed.Tags': { status: 403, message: 'A resource can have no more than {0} tags.' },
  'NumberExceed.Tags': { status: 400, message: 'No more than {0} tags can be given in one call.' },
  'NumberExceed.ResourceIds': { status: 400, message: 'No more than {0} resources can be named in one call.' },
  'InvalidResourceId.NotFound': { status: 404, message: 'The resource {0} is not found.' },
  'InvalidResourceType.NotFound': { status: 404, message: 'The resource type {0} is not found.' },
} as const satisfies Record<string, ErrorRow>;

export type CloudErrorCode = keyof typeof rows;

/** The table above, for look-ups by a code that came from outside. */
export const CLOUD_ERRORS: Readonly<Record<string, ErrorRow>> = rows;

/** A refusal as the cloud words it. Thrown inside the model and turned into a value by the gateway. */
export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly code: string;
  /** Fixed status of an injected error; null means: as the table has it for the API at hand. */
  readonly fixedStatus: number | null;

  constructor(code: string, message: string, fixedStatus: number | null) {
    super(message);
    this.code = code;
    this.fixedStatus = fixedStatus;
  }

  /** The HTTP status of this error when `api` answers with it. Codes that are not in the table are 400. */
  statusIn(api: string): number {
    const row = CLOUD_ERRORS[this.code];
    return this.fixedStatus ?? row?.statusIn?.[api] ?? row?.status ?? 400;
  }

  /** True when the request was turned away before it was looked at, so its ClientToken stays fresh. */
  get early(): boolean {
    return CLOUD_ERRORS[this.code]?.early === true;
  }
}

/** An error of the table with its sentence filled in. */
export function cloudError(code: CloudErrorCode, ...details: readonly (string | number)[]): CloudError {
  return new CloudError(code, fill(rows[code].message, details), null);
}

/** An error chosen by whoever injects a fault: any code, the table's status and sentence unless others are given. */
export function injectedError(code: string, status: number | null, message: string | null): CloudError {
  return new CloudError(code, message ?? fill(CLOUD_ERRORS[code]?.message ?? 'Injected by the lab.', []), status);
}

function fill(sentence: string, details: readonly (string | number)[]): string {
  return sentence.replace(/\{(\d)\}/g, (_, index: string) => String(details[Number(index)] ?? ''));
}
