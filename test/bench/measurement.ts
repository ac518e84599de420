/** What a bench says: one figure with its unit, and the aim it is held against where there is one. */

export type Measurement = {
  readonly bench: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: 'ms' | 'x' | 'count';
  /** The greatest value that is still good, or null where a figure is only shown. */
  readonly aim: number | null;
  readonly met: boolean | null;
};

/** A bench runs inside network and mount namespaces of its own, with an empty /run, and may leave there what it likes. */
export type Bench = {
  readonly name: string;
  readonly summary: string;
  run(options: { readonly rounds: number | null; progress(text: string): void }): Promise<readonly Measurement[]>;
};

/** The smallest sample that at least the share `q` of all samples do not exceed: always one that was measured. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('no samples');
  return value;
}

export function measurement(
  bench: string,
  metric: string,
  value: number,
  unit: Measurement['unit'],
  aim: number | null = null,
): Measurement {
  const rounded = Math.round(value * 100) / 100;
  return { bench, metric, value: rounded, unit, aim, met: aim === null ? null : rounded <= aim };
}

/** Columns for people; the same rows as the JSON lines. */
export function table(rows: readonly Measurement[]): string {
  const cells = rows.map((row) => [
    row.bench,
    row.metric,
    row.value.toFixed(2),
    row.unit,
    row.aim === null ? '' : `<= ${row.aim}`,
    row.met === null ? '' : row.met ? 'yes' : 'NO',
  ]);
  const all = [['bench', 'metric', 'value', 'unit', 'aim', 'met'], ...cells];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  const isNumber = (column: number) => column === 2;
  return all
    .map((line) =>
      line
        .map((cell, column) =>
          isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
