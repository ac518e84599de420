/**
 * The SDK's several ways to fail, as one CloudError whose detail names the API, the cloud's code and the request id, says what the cloud
 * says, and then the same in plain words.
 *
 * An error page of a proxy or an empty body arrives as a bare SyntaxError without status; time-outs have a name and no code;
 * network trouble has Node's codes. None of these is an answer of the cloud, and none says whether the call was carried out.
 */
import { cloudErrorCode, cloudSentence } from '../../core/cloud-errors.ts';
import { EnactorError, type ErrorCode } from '../../core/errors.ts';
import { CloudError } from '../../ports/cloud.ts';

/** So that the plain sentence after it is not cut off where a detail is. */
const SAID_MAX = 280;

export function translated(action: string, thrown: unknown): EnactorError {
  if (thrown instanceof EnactorError) return thrown;
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Record<string, unknown>;
  const message = typeof error.message === 'string' ? error.message : String(thrown);
  const code = typeof error.code === 'string' ? error.code : '';
  const status = typeof error.statusCode === 'number' ? error.statusCode : null;

  if (error.name === 'RequestTimeoutError') return unanswered(action, 'cloudUnreachable', 'no answer in time', thrown);
  if (status !== null || code === 'InvalidCredentials') {
    const known = code === 'undefined' ? '' : code;
    return new CloudError(cloudErrorCode(known), answered(action, known, status, error), known, thrown);
  }
  if (
    /^(E[A-Z]+|ERR_[A-Z_]+|CERT_[A-Z_]+|DEPTH_ZERO_[A-Z_]+|UNABLE_[A-Z_]+)$/.test(code) ||
    error.syscall !== undefined
  )
    return unanswered(action, 'cloudUnreachable', `${code} ${withoutQuery(message)}`, thrown);
  return unanswered(action, 'cloud', `unreadable answer: ${withoutQuery(message)}`, thrown);
}

function answered(action: string, code: string, status: number | null, error: Record<string, unknown>): string {
  const data = (typeof error.data === 'object' && error.data !== null ? error.data : {}) as Record<string, unknown>;
  const said = typeof data.Message === 'string' ? data.Message : '';
  const plain = code === '' ? null : cloudSentence(code);
  const request = typeof error.requestId === 'string' && error.requestId !== 'undefined' ? error.requestId : '';
  return [
    code === '' ? `HTTP ${status ?? ''}` : code,
    request === '' ? '' : `request ${request}`,
    `${action}: ${said === '' ? 'refused' : said.slice(0, SAID_MAX)}${plain === null ? '' : ` - ${plain}`}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function unanswered(action: string, code: ErrorCode, what: string, cause: unknown): CloudError {
  return new CloudError(code, `${action}: ${what.slice(0, 500)}`, '', cause);
}

/** The SDK quotes URLs, and the legacy form signs in the query. */
function withoutQuery(message: string): string {
  return message.replaceAll(/\?\S*/g, '');
}
