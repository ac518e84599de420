/**
 * The table in README that the benches write (`npm run bench -- --readme`): the figures that have an aim, between two markers. A bench
 * that has not run keeps the rows that are there.
 */
import { aimText, type Measurement } from './measurement.ts';

const BEGIN = '<!-- npm run bench -- --readme -->';
const END = '<!-- end of the benches -->';
const HEAD = ['| bench | figure | median | quartiles | aim | met |', '|---|---|---|---|---|---|'];

/** Throws when the markers are missing. */
export function withFigures(readme: string, rows: readonly Measurement[], machine: string): string {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`README has no ${BEGIN} … ${END}`);
  const before = readme.slice(from + BEGIN.length, to).split('\n');
  const ran = new Set(rows.map((row) => row.bench));
  const kept = before.filter((line) => line.startsWith('| `') && !ran.has(benchOf(line)));
  const lines = [...kept, ...rows.filter((row) => row.aim !== null).map(rowText)].sort((a, b) =>
    benchOf(a) < benchOf(b) ? -1 : benchOf(a) > benchOf(b) ? 1 : 0,
  );
  const body = [machine, '', ...HEAD, ...lines].join('\n');
  return `${readme.slice(0, from)}${BEGIN}\n${body}\n${readme.slice(to)}`;
}

const benchOf = (line: string): string => line.split('`')[1] ?? '';

function rowText(row: Measurement): string {
  const unit = row.unit === 'count' ? '' : row.unit === 'x' || row.unit === '%' ? row.unit : ` ${row.unit}`;
  const spread = row.spread === null ? '' : `${row.spread[0]} to ${row.spread[1]}`;
  const met = row.met === true ? 'yes' : '**no**';
  return `| \`${row.bench}\` | ${row.metric} | ${row.value}${unit} | ${spread} | ${aimText(row.aim)} | ${met} |`;
}
