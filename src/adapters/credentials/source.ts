/** One way to get an access key. */
import type { AccessKey, CredentialSourceName } from '../../ports/credentials.ts';

export type CredentialSource = {
  readonly name: CredentialSourceName;
  /** Which one of its kind, for people: a path, a role. */
  readonly from: string;
  /** Whether it is configured; one that is, and fails, is not passed over. Rejects when that cannot be told. */
  isThere(signal: AbortSignal): Promise<boolean>;
  /** Rejects with an Error whose message says what is wrong, without any secret. */
  obtain(signal: AbortSignal): Promise<AccessKey>;
  /** How long a key without an end is taken for the current one; null: for ever. */
  readonly lookAgainMs: number | null;
};
