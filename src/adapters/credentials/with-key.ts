/**
 * One call signed with the key of the moment. One refusal alone is answered here, since it is about the key and not about the call: the
 * key is renewed, and the call made once more with another one, if there is one.
 */
import { cloudActionOf } from '../../core/cloud-errors.ts';
import { CloudError } from '../../ports/cloud.ts';
import type { AccessKey, Credentials } from '../../ports/credentials.ts';

export async function withKey<T>(
  credentials: Credentials,
  signal: AbortSignal,
  once: (key: AccessKey) => Promise<T>,
): Promise<T> {
  const key = await credentials.current(signal);
  try {
    return await once(key);
  } catch (thrown) {
    if (!(thrown instanceof CloudError) || cloudActionOf(thrown.cloudCode) !== 'renewKey') throw thrown;
    credentials.refused(key);
    const other = await credentials.current(signal);
    if (other.isSame(key)) throw thrown;
    return await once(other);
  }
}
