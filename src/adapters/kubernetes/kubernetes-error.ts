import { EnactorError } from '../../core/errors.ts';

/** A call to the API server that was refused (`status` and `reason` of its Status object) or not answered (status 0). */
export class KubernetesError extends EnactorError {
  readonly status: number;
  readonly reason: string;

  constructor(detail: string, status: number, reason: string, cause?: unknown) {
    super('kubernetes', detail, cause);
    this.status = status;
    this.reason = reason;
  }
}

/** What was asked for is older than what the server keeps. */
export function isGone(error: unknown): boolean {
  return error instanceof KubernetesError && error.status === 410;
}

/** The server is behind the version asked for: restored from a backup, or replaced by another. */
export function isAhead(error: unknown): boolean {
  return error instanceof KubernetesError && error.status === 504;
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubernetesError && error.status === 404;
}
