/** Colours for a terminal, or none for a pipe. */
import { styleText } from 'node:util';

export type Hue = Parameters<typeof styleText>[0];
export type Paint = (hue: Hue, text: string) => string;

export const plain: Paint = (_, text) => text;
export const coloured: Paint = (hue, text) => styleText(hue, text);

/** Colours only where someone sees them. Source: no-color.org; `FORCE_COLOR` as Node reads it. */
export function paintFor(stream: NodeJS.WriteStream): Paint {
  if (process.env.NO_COLOR) return plain;
  if (process.env.FORCE_COLOR !== undefined && process.env.FORCE_COLOR !== '0') return coloured;
  return stream.isTTY && stream.hasColors() ? coloured : plain;
}
