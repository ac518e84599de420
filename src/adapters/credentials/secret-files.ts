/**
 * A key pair that an add-on's secret mounts as two files. They win over the configuration's pair, as in Terway, and are read again
 * every minute, since whoever changes the secret restarts nobody.
 *
 * Source: Terway, `/var/alibaba-addon-secret/access-key-id` and `access-key-secret`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AccessKey } from '../../ports/credentials.ts';
import type { CredentialSource } from './source.ts';

export const ADDON_SECRET_DIR = '/var/alibaba-addon-secret';
export const READ_AGAIN_MS = 60_000;
const [ID, SECRET] = ['access-key-id', 'access-key-secret'] as const;

/** Of the two one alone is a mistake, and told as such. */
export function secretFilesSource(dir: string): CredentialSource {
  return {
    name: 'addonFiles',
    from: join(dir, ID),
    lookAgainMs: READ_AGAIN_MS,
    isThere: async () => (await trimmed(join(dir, ID))) !== null || (await trimmed(join(dir, SECRET))) !== null,
    async obtain() {
      const [accessKeyId, accessKeySecret] = [await trimmed(join(dir, ID)), await trimmed(join(dir, SECRET))];
      if (!accessKeyId) throw new Error(`${accessKeyId === null ? 'is missing' : 'is empty'}, ${SECRET} is there`);
      if (!accessKeySecret) throw new Error(`its ${SECRET} is ${accessKeySecret === null ? 'missing' : 'empty'}`);
      return new AccessKey({ accessKeyId, accessKeySecret });
    },
  };
}

/** null: there is no such file. Rejects with Node's reason when it cannot be read. */
export async function trimmed(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new Error(`${path} cannot be read: ${code}`);
  }
}
