/** Link-layer addresses as lower-case colon-separated text, the form ECS and `ip link` share. */

export function macBytes(mac: string): Buffer {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(mac)) throw new RangeError(`not a MAC address: ${mac}`);
  return Buffer.from(mac.replaceAll(':', ''), 'hex');
}

export function macFromBytes(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += `${text === '' ? '' : ':'}${byte.toString(16).padStart(2, '0')}`;
  return text;
}
