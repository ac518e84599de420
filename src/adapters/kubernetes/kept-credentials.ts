/**
 * What signs calls of the API server, read again now and then: a token in a file rotates. One that is refused is read at once, and the call
 * made once more with what is there now.
 */

/** Credentials are read again this often. */
const KEPT_MS = 60_000;
const UNAUTHORIZED = 401;

export class KeptCredentials<T> {
  readonly #read: () => Promise<T>;
  readonly #nowMs: () => number;
  #kept: { readonly value: T; readonly untilMs: number } | null = null;

  constructor(read: () => Promise<T>, nowMs: () => number) {
    this.#read = read;
    this.#nowMs = nowMs;
  }

  /** `passOver` is told of an answer that nobody reads. */
  async answered<Answer extends { readonly statusCode?: number | undefined }>(
    send: (credentials: T) => Promise<Answer>,
    passOver: (answer: Answer) => void = () => {},
  ): Promise<Answer> {
    const answer = await send(await this.#current());
    if (answer.statusCode !== UNAUTHORIZED) return answer;
    passOver(answer);
    this.#kept = null;
    return await send(await this.#current());
  }

  async #current(): Promise<T> {
    const nowMs = this.#nowMs();
    if (this.#kept !== null && nowMs < this.#kept.untilMs) return this.#kept.value;
    const value = await this.#read();
    this.#kept = { value, untilMs: nowMs + KEPT_MS };
    return value;
  }
}
