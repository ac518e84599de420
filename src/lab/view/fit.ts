/** Text that may hold colours, cut and padded by the width people see. All that is drawn here is one column a character. */
import { stripVTControlCharacters } from 'node:util';

export function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** At most `width` columns; what is cut ends in an ellipsis, and colours are ended. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let out = '';
  let columns = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape that starts a colour is a control character
  for (const part of text.match(/\x1b\[[0-9;]*m|[^\x1b]/gu) ?? []) {
    if (part.startsWith('\x1b')) out += part;
    else if (columns < width - 1) {
      out += part;
      columns += 1;
    }
  }
  return `${out}…`;
}
