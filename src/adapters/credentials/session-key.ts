/** Temporary credentials as the metadata service and STS write them. */
import { AccessKey } from '../../ports/credentials.ts';

/** Throws an Error that names the field at fault and nothing of its content. */
export function sessionKey(fields: Readonly<Record<string, unknown>>): AccessKey {
  const text = (name: string): string => {
    const value = fields[name];
    if (typeof value !== 'string' || value === '') throw new Error(`the answer has no ${name}`);
    return value;
  };
  const untilMs = Date.parse(text('Expiration'));
  if (Number.isNaN(untilMs)) throw new Error('Expiration of the answer is no instant');
  return new AccessKey({
    accessKeyId: text('AccessKeyId'),
    accessKeySecret: text('AccessKeySecret'),
    securityToken: text('SecurityToken'),
    untilMs,
  });
}

/** null: no JSON object. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null; // the parser's own message quotes the text
  }
}
