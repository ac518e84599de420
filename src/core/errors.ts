/**
 * Every failure a caller can see, as one table: what the CNI and gRPC callers get, whether asking again helps, and a sentence
 * for the operator. Adapters translate into these at their boundary; nobody parses messages.
 *
 * `terway` is the code Terway's daemon would have put into the text `code: X, msg: Y`, which its plugins and people look for.
 * Source: CNI SPEC 1.1 "Error codes"; gRPC status codes; Terway types/error.go as told in its behaviour.
 */
export type ErrorRow = {
  readonly terway: string;
  /** gRPC status in Connect's snake case. */
  readonly status: string;
  readonly cniCode: number;
  readonly retryHelps: boolean;
  readonly sentence: string;
};

const row = (terway: string, status: string, cniCode: number, retryHelps: boolean, sentence: string): ErrorRow => ({
  terway,
  status,
  cniCode,
  retryHelps,
  sentence,
});

export const errorTable = {
  invalidArgument: row('InvalidArgs', 'invalid_argument', 4, false, 'The request names something that cannot be.'),
  podUnknown: row('InvalidArgs', 'not_found', 11, true, 'The API server does not know this pod on this node.'),
  notReady: row('InternalError', 'unavailable', 11, true, 'The daemon is starting, degraded or stopping.'),
  deadline: row('InternalError', 'deadline_exceeded', 11, true, 'Nothing became free before the caller’s deadline.'),
  cancelled: row('InternalError', 'canceled', 11, true, 'The caller gave up.'),
  noCapacity: row(
    'IPNotAllocated',
    'resource_exhausted',
    11,
    true,
    'Every address the node may hold is in use; a pod has to go first.',
  ),
  vSwitchEmpty: row(
    'OpenAPIErr',
    'resource_exhausted',
    11,
    true,
    'The vSwitch has no free address left: add another one, or free some.',
  ),
  eniQuota: row(
    'OpenAPIErr',
    'resource_exhausted',
    11,
    true,
    'The instance has all the ENIs its type may have, those of others included.',
  ),
  eniFull: row('OpenAPIErr', 'resource_exhausted', 11, true, 'The ENI has all the addresses it may have.'),
  ipv6Off: row(
    'OpenAPIErr',
    'resource_exhausted',
    11,
    true,
    'The vSwitch, or the instance type, has no IPv6, which dual stack needs.',
  ),
  throttled: row('OpenAPIErr', 'unavailable', 11, true, 'The cloud limits the rate of calls.'),
  permission: row('OpenAPIErr', 'permission_denied', 11, false, 'The credentials may not make this call.'),
  groupFull: row(
    'OpenAPIErr',
    'resource_exhausted',
    11,
    true,
    'The security group has all the addresses it may have: use another one, or one of the enterprise type.',
  ),
  misconfigured: row(
    'OpenAPIErr',
    'failed_precondition',
    11,
    false,
    'The cloud cannot do what the configuration asks for.',
  ),
  credentials: row('OpenAPIErr', 'unavailable', 11, true, 'There are no credentials that the cloud would take.'),
  clockSkew: row(
    'OpenAPIErr',
    'failed_precondition',
    11,
    false,
    'The node’s clock differs from the cloud’s by more than it takes: set it, best by NTP.',
  ),
  readOnly: row(
    'OpenAPIErr',
    'failed_precondition',
    11,
    false,
    'The daemon is in read-only mode: it changes nothing in the cloud.',
  ),
  cloud: row('OpenAPIErr', 'unavailable', 11, true, 'The cloud refused or failed.'),
  tokenSpent: row(
    'OpenAPIErr',
    'unavailable',
    11,
    true,
    'The cloud takes this request’s ClientToken no more; the request is made anew.',
  ),
  cloudUnreachable: row('OpenAPIErr', 'unavailable', 11, true, 'The cloud’s endpoint does not answer.'),
  metadata: row('InternalError', 'unavailable', 11, true, 'The metadata service does not answer as it should.'),
  device: row('InternalError', 'internal', 11, true, 'The ENI’s device did not appear or could not be set up.'),
  store: row('InternalError', 'unavailable', 11, true, 'The node’s database cannot be written.'),
  kubernetes: row('InvalidArgs', 'unavailable', 11, true, 'The API server does not answer.'),
  internal: row('InternalError', 'internal', 11, true, 'A fault of this program; its log has the details.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** Asking again cannot help before a person has changed something: whoever waits is told at once. */
export const needsAPerson = (code: ErrorCode): boolean => !errorTable[code].retryHelps;

/**
 * Nobody waits for what this may lead to. Where our own disk takes no intent it takes no lease either: a pod is told why, and asks again, in
 * place of waiting to its deadline for a disk that somebody has to make room on.
 */
export const isToldAtOnce = (code: ErrorCode): boolean => needsAPerson(code) || code === 'store';

/** A failure as a value: what crosses actors. `detail` names the thing at fault (pod, ENI, code of the cloud, request id). */
export type Failure = { readonly code: ErrorCode; readonly detail: string };

export class EnactorError extends Error {
  override readonly name = 'EnactorError';
  readonly code: ErrorCode;
  readonly detail: string;

  constructor(code: ErrorCode, detail: string, cause?: unknown) {
    super(failureText({ code, detail }), cause === undefined ? undefined : { cause });
    this.code = code;
    this.detail = detail;
  }

  get failure(): Failure {
    return { code: this.code, detail: this.detail };
  }
}

/** The text a caller reads. The form is Terway's, which people grep for. */
export function failureText({ code, detail }: Failure): string {
  return `code: ${errorTable[code].terway}, msg: ${detail}`;
}

/** Whatever was thrown, as a Failure: unknown things are `internal`, with their message. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof EnactorError) return thrown.failure;
  if (thrown instanceof Error && thrown.name === 'AbortError')
    return { code: 'cancelled', detail: 'the call was cancelled' };
  return { code: 'internal', detail: thrown instanceof Error ? thrown.message : String(thrown) };
}
