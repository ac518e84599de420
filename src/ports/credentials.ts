/**
 * What signs the calls of the cloud. Whoever calls asks for each attempt anew: the key of a moment ago may have ended.
 */
import type { CredentialSourceName } from '../core/config.ts';

export type { CredentialSourceName };

/** Secret and token are hidden from JSON, logs and `inspect`: they can only be asked for. */
export class AccessKey {
  readonly accessKeyId: string;
  /** When it ends by its giver's word; null: it lives until somebody takes it back. */
  readonly untilMs: number | null;
  readonly #secret: string;
  readonly #token: string | null;

  constructor(parts: { accessKeyId: string; accessKeySecret: string; securityToken?: string; untilMs?: number }) {
    this.accessKeyId = parts.accessKeyId;
    this.#secret = parts.accessKeySecret;
    this.#token = parts.securityToken ?? null;
    this.untilMs = parts.untilMs ?? null;
  }

  accessKeySecret(): string {
    return this.#secret;
  }

  /** null: a long-lived key, which has none. */
  securityToken(): string | null {
    return this.#token;
  }

  isSame(other: AccessKey): boolean {
    return other.accessKeyId === this.accessKeyId && other.#secret === this.#secret && other.#token === this.#token;
  }

  /** Enough to tell one key from another, and to find it in the cloud's own list. */
  toJSON(): { readonly accessKeyId: string; readonly untilMs: number | null } {
    return { accessKeyId: `${this.accessKeyId.slice(0, 8)}…`, untilMs: this.untilMs };
  }
}

export type CredentialsReport = {
  /** null until a source was found. */
  readonly source: CredentialSourceName | null;
  /** Which one of its kind: a file, a role; no secret. */
  readonly from: string | null;
  readonly obtainedMs: number | null;
  /** null: does not end, or there is none. */
  readonly untilMs: number | null;
  /** The last failure to renew, if nothing was obtained since. */
  readonly failure: { readonly sinceMs: number; readonly times: number; readonly why: string } | null;
};

export interface Credentials {
  /** Rejects with EnactorError `credentials` naming source and reason, or `cancelled` when `signal` fires. */
  current(signal: AbortSignal): Promise<AccessKey>;
  /** The cloud did not take it: it is renewed at once. Who asks next gets another, or the same one if its giver has no other. */
  refused(key: AccessKey): void;
  report(): CredentialsReport;
}
