/**
 * Draws a block of lines over the one drawn before, in place and without flicker: each line is overwritten and then cleared to its
 * end, and nothing is cleared beforehand.
 *
 * The block never gets taller than the terminal, since what scrolled away cannot be drawn over.
 */
import { cut } from './fit.ts';
import { visible } from './visible.ts';

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const CLEAR_LINE_END = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';

export class Screen {
  readonly #out: NodeJS.WriteStream;
  #drawn = 0;
  #begun = false;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  get columns(): number {
    return this.#out.columns || 80;
  }

  get rows(): number {
    return this.#out.rows || 24;
  }

  draw(lines: readonly string[]): void {
    const shown = lines.slice(0, this.rows - 1).map((line) => cut(visible(line), this.columns - 1));
    const start = this.#begun ? this.#home() : HIDE_CURSOR;
    this.#begun = true;
    this.#drawn = shown.length;
    this.#out.write(`${start}${shown.map((line) => `${line}${CLEAR_LINE_END}\n`).join('')}${CLEAR_BELOW}`);
  }

  /** After the terminal changed its size what is above cannot be trusted: start on a clean one. */
  forget(): void {
    if (this.#begun) this.#out.write('\x1b[H\x1b[2J');
    this.#drawn = 0;
  }

  /** Leaves the last block standing and gives the cursor back. */
  end(): void {
    if (this.#begun) this.#out.write(SHOW_CURSOR);
    this.#begun = false;
  }

  #home(): string {
    return this.#drawn === 0 ? '\r' : `\x1b[${this.#drawn}A\r`;
  }
}
