/**
 * ClientToken: the same token with the same request gets the same answer, and nothing is done twice.
 *
 * Source: ECS "How to ensure idempotence"; IdempotentParameterMismatch and IdempotentFailed as its clients know them.
 */
import { cloudError } from './errors.ts';

export const CLIENT_TOKEN_MAX_CHARS = 64;
/** Tokens remembered; the oldest go first. The real service keeps them for hours. */
const TOKENS_MAX = 20_000;

type Remembered = { readonly request: string; readonly output: unknown; readonly failed: boolean; answerMs: number };

export class ClientTokens {
  readonly #remembered = new Map<string, Remembered>();

  /** The earlier answer to the same request; null: a fresh token. Throws CloudError when the token cannot be used again. */
  recall(api: string, token: string, request: string): { readonly output: unknown; readonly answerMs: number } | null {
    if (token.length > CLIENT_TOKEN_MAX_CHARS || !/^[\x20-\x7e]+$/.test(token)) {
      throw cloudError('InvalidParameter', 'ClientToken');
    }
    const earlier = this.#remembered.get(`${api} ${token}`);
    if (earlier === undefined) return null;
    if (earlier.request !== request) throw cloudError('IdempotentParameterMismatch');
    if (earlier.failed) throw cloudError('IdempotentFailed');
    return earlier;
  }

  remember(
    api: string,
    token: string,
    request: string,
    result: { output: unknown; failed: boolean; answerMs: number },
  ) {
    const key = `${api} ${token}`;
    this.#remembered.delete(key);
    this.#remembered.set(key, { request, ...result });
    if (this.#remembered.size > TOKENS_MAX) {
      const oldest = this.#remembered.keys().next();
      if (!oldest.done) this.#remembered.delete(oldest.value);
    }
  }
}

/** One text for equal requests, whatever the order of their fields. */
export function requestText(input: unknown): string {
  return JSON.stringify(input, (_, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
