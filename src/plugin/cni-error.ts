/**
 * The error object of the CNI: what the runtime sees of a failure, on stdout.
 *
 * Codes up to 99 are the specification's; 8 is only in its library (namespace of no use); from 100 they are ours.
 * Source: CNI SPEC 1.1, section 5, "Error".
 */
export const CNI_CODE = {
  incompatibleVersion: 1,
  invalidEnvironment: 4,
  ioFailure: 5,
  decodeFailure: 6,
  invalidConfig: 7,
  invalidNetns: 8,
  tryAgainLater: 11,
  /** STATUS: an ADD cannot be served. */
  notAvailable: 50,
  /** STATUS: nor can existing pods reach everything. */
  limitedConnectivity: 51,
  /** CHECK found something missing; `msg` names it. */
  checkFailed: 100,
  /** CNI_IFNAME exists in the namespace already. */
  interfaceExists: 101,
  /** The daemon's answer asks for a network this plugin does not make. */
  unsupportedNetwork: 102,
  /** A fault of this program. */
  internal: 999,
} as const;

export type CniCode = (typeof CNI_CODE)[keyof typeof CNI_CODE];

/** `msg` names the first cause; `details` adds to it and may be ''. */
export class CniError extends Error {
  override readonly name = 'CniError';
  readonly code: CniCode;
  readonly details: string;

  constructor(code: CniCode, msg: string, details = '', cause?: unknown) {
    super(msg, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }
}

/** Whatever was thrown, as a CniError; unknown things are `code` with their message. */
export function cniErrorOf(thrown: unknown, code: CniCode = CNI_CODE.internal): CniError {
  if (thrown instanceof CniError) return thrown;
  return new CniError(code, thrown instanceof Error ? thrown.message : String(thrown), '', thrown);
}

export function errorObject(error: CniError, cniVersion: string): Record<string, unknown> {
  const { code, message, details } = error;
  return { cniVersion, code, msg: message, ...(details === '' ? {} : { details }) };
}
