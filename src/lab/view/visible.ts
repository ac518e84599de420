/**
 * What a terminal may be shown: control characters in what others named (a device, a cloud's sentence, a pod's request) would move its cursor, set
 * its title or turn the reading direction; each is shown by its picture instead. Colours stay: they are ours, and harm nobody's.
 * Source: ECMA-48; Unicode, Control Pictures, and UAX 9 for what turns direction.
 */
const COLOUR_OR_CONTROL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\x1b\[[0-9;]*m|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function visible(line: string): string {
  return line.replace(COLOUR_OR_CONTROL, (found) => {
    if (found.length > 1) return found;
    const code = found.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd';
  });
}
