/** What a bench says: one figure with its unit and its spread, and the aim it is held against where there is one. */

export type Aim = { readonly atMost: number } | { readonly atLeast: number };

export type Measurement = {
  readonly bench: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: Unit;
  /** First and third quartile of the samples that the figure is the median of; null where it is no median. */
  readonly spread: readonly [number, number] | null;
  /** How many samples. */
  readonly samples: number;
  /** What is still good, or null where a figure is only shown. */
  readonly aim: Aim | null;
  readonly met: boolean | null;
};

export type Unit = 'ms' | 's' | 'x' | 'count' | 'MB' | '%' | '/s';

export type BenchOptions = {
  /** null: as many as the bench itself finds enough. */
  readonly rounds: number | null;
  /** A folder for profiles of the programs that are measured; null: none is wanted. */
  readonly profileInto: string | null;
  progress(text: string): void;
};

/** A bench runs inside network and mount namespaces of its own, with an empty /run, and may leave there what it likes. */
export type Bench = {
  readonly name: string;
  /** Names of what else it measures in the same rounds. */
  readonly also?: readonly string[];
  readonly summary: string;
  run(options: BenchOptions): Promise<readonly Measurement[]>;
};

/** The smallest sample that at least the share `q` of all samples do not exceed: always one that was measured. */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)];
  if (value === undefined) throw new RangeError('no samples');
  return value;
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

const rounded = (value: number): number => Math.round(value * 100) / 100;

/** A number as aim is the greatest value that is still good. */
export function measurement(
  bench: string,
  metric: string,
  value: number,
  unit: Unit,
  aim: number | Aim | null = null,
  samples: readonly number[] = [],
): Measurement {
  const held = typeof aim === 'number' ? { atMost: aim } : aim;
  const shown = rounded(value);
  return {
    bench,
    metric,
    value: shown,
    unit,
    spread: samples.length < 2 ? null : [rounded(quantile(samples, 0.25)), rounded(quantile(samples, 0.75))],
    samples: Math.max(1, samples.length),
    aim: held,
    met: held === null ? null : 'atMost' in held ? shown <= held.atMost : shown >= held.atLeast,
  };
}

/** The median of what was sampled. */
export function sampled(
  bench: string,
  metric: string,
  samples: readonly number[],
  unit: Unit,
  aim: number | Aim | null = null,
): Measurement {
  return measurement(bench, metric, median(samples), unit, aim, samples);
}

/**
 * Ours against the yardstick's, where sample n of both was taken in the same round: the median of the rounds' ratios, since what else the
 * machine did met both sides of a round.
 */
export function compared(
  bench: string,
  metric: string,
  ours: readonly number[],
  yardsticks: readonly number[],
  aim: number | Aim | null = null,
): Measurement {
  if (ours.length !== yardsticks.length) throw new RangeError(`${ours.length} samples beside ${yardsticks.length}`);
  const ratios = ours.map((value, nth) => value / (yardsticks[nth] ?? Number.NaN));
  return sampled(bench, metric, ratios, 'x', aim);
}

export const aimText = (aim: Aim | null): string =>
  aim === null ? '' : 'atMost' in aim ? `<= ${aim.atMost}` : `>= ${aim.atLeast}`;

const spreadText = ({ spread }: Measurement): string =>
  spread === null ? '' : `${spread[0].toFixed(2)} to ${spread[1].toFixed(2)}`;

/** Columns for people; the same rows as the JSON lines. */
export function table(rows: readonly Measurement[]): string {
  const cells = rows.map((row) => [
    row.bench,
    row.metric,
    row.value.toFixed(2),
    row.unit,
    spreadText(row),
    aimText(row.aim),
    row.met === null ? '' : row.met ? 'yes' : 'NO',
  ]);
  const all = [['bench', 'metric', 'value', 'unit', 'quartiles', 'aim', 'met'], ...cells];
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
