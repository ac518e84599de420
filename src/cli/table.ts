import { pad, widthOf } from '../lab/view/fit.ts';
import type { Paint } from '../lab/view/paint.ts';

/** Rows under a heading, columns as wide as their widest cell; the last one is left ragged. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string[] {
  const widths = heading.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map(widthOf)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === heading.length - 1 ? cell : pad(cell, widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [paint('bold', line(heading)), ...rows.map(line)];
}
