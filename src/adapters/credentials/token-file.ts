/**
 * The token file of managed clusters: temporary credentials, each field encrypted with the key that lies beside them.
 *
 * JSON `{access.key.id, access.key.secret, security.token, expiration, keyring}`; the first three are base64 of a block of IV and
 * AES-CBC with PKCS#7 padding, the key is the text of `keyring`. That hides nothing from who can read the file; it is the format.
 * Source: Terway, `credential_path` and its encrypted credential provider.
 */
import { createDecipheriv } from 'node:crypto';
import { AccessKey } from '../../ports/credentials.ts';
import { READ_AGAIN_MS, trimmed } from './secret-files.ts';
import type { CredentialSource } from './source.ts';

export const ADDON_TOKEN_FILE = '/var/addon/token-config';
const BLOCK_BYTES = 16;

/** `name`: whether the configuration names it, or it is where add-ons have it. */
export function tokenFileSource(name: 'tokenFile' | 'addonTokenFile', path: string): CredentialSource {
  return {
    name,
    from: path,
    lookAgainMs: READ_AGAIN_MS,
    isThere: async () => name === 'tokenFile' || (await trimmed(path)) !== null,
    async obtain() {
      const text = await trimmed(path);
      if (text === null) throw new Error('there is no such file');
      return decrypted(text);
    },
  };
}

/** Throws an Error that names the field at fault and nothing of its content. */
function decrypted(text: string): AccessKey {
  let fields: Record<string, unknown> | null;
  try {
    fields = JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    throw new Error('is not JSON'); // the parser's own message quotes the text
  }
  const field = (name: string): string => {
    const value = fields?.[name];
    if (typeof value !== 'string' || value === '') throw new Error(`has no ${name}`);
    return value;
  };
  const keyring = Buffer.from(field('keyring'));
  if (![16, 24, 32].includes(keyring.length)) throw new Error('its keyring is no AES key of 16, 24 or 32 bytes');
  const plain = (name: string): string => {
    const bytes = Buffer.from(field(name), 'base64');
    try {
      const [iv, body] = [bytes.subarray(0, BLOCK_BYTES), bytes.subarray(BLOCK_BYTES)];
      const decipher = createDecipheriv(`aes-${keyring.length * 8}-cbc`, keyring, iv);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    } catch {
      throw new Error(`its ${name} cannot be decrypted with its keyring`);
    }
  };
  const untilMs = Date.parse(field('expiration'));
  if (Number.isNaN(untilMs)) throw new Error('its expiration is no instant');
  return new AccessKey({
    accessKeyId: plain('access.key.id'),
    accessKeySecret: plain('access.key.secret'),
    securityToken: plain('security.token'),
    untilMs,
  });
}
