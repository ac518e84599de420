/** `enactor charts`: the statecharts as they are built into this program; no node is needed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Option } from 'commander';
import { machineConfigOf } from '../../charts/machine-config.ts';
import { mermaidOf } from '../../charts/mermaid.ts';
import type { ChartData } from '../../ports/chart-data.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { chartLines, chartTable } from '../node-charts.ts';
import { print } from '../print.ts';

const FORMATS = ['json', 'mermaid', 'svg'] as const;
type Format = (typeof FORMATS)[number];
const ENDINGS: Readonly<Record<Format, string>> = { json: 'json', mermaid: 'mmd', svg: 'svg' };

export const chartsCommand: AddCommand = (enactor, done) => {
  enactor
    .command('charts')
    .description('the statecharts that the actors run: all of them, or one with its states and transitions')
    .argument('[id]', 'such as eni')
    .addOption(
      new Option(
        '--format <format>',
        'for other tools: json as Stately’s editor imports it, mermaid as GitHub draws it, svg as a picture',
      ).choices(FORMATS),
    )
    .option('--into <directory>', 'with --format: a file for each chart')
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples(
        'enactor charts',
        'enactor charts eni',
        'enactor charts lease -o json',
        'enactor charts lease --format svg > lease.svg',
        'enactor charts --format json --into charts',
      ),
    )
    .action(async (id: string | undefined, { output, format, into }) => {
      if (into !== undefined && format === undefined) throw new CommandError(EXIT.usage, '--into needs a --format');
      if (into === undefined && format !== undefined && id === undefined)
        throw new CommandError(EXIT.usage, `--format ${format} is for one chart, which has to be named, or for --into`);
      const { charts } = await import('../../../actors/chart-data.ts'); // other commands do without the charts
      const all = charts();
      const chosen = id === undefined ? all : [named(all, id)];
      const [first] = chosen;
      if (format !== undefined && into !== undefined) await writeAll(chosen, format, into);
      else if (format !== undefined && first !== undefined) process.stdout.write(await formatted(first, format));
      else if (id === undefined) print(all, output, (paint) => chartTable(all, paint));
      else print(first, output, (paint) => chartLines(named(all, id), paint));
      done(EXIT.ok);
    });
};

function named(all: readonly ChartData[], id: string): ChartData {
  const chart = all.find((one) => one.id === id);
  if (chart !== undefined) return chart;
  throw new CommandError(EXIT.failed, `there is no chart ${id}; there are ${all.map((one) => one.id).join(', ')}`);
}

async function formatted(chart: ChartData, format: Format): Promise<string> {
  if (format === 'mermaid') return mermaidOf(chart);
  if (format === 'json') return `${JSON.stringify(machineConfigOf(chart), null, 2)}\n`;
  const { layoutOf } = await import('../../charts/layout.ts'); // a megabyte that others do without
  const { svgOf } = await import('../../charts/svg.ts');
  return svgOf(await layoutOf(chart));
}

async function writeAll(charts: readonly ChartData[], format: Format, directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  for (const chart of charts)
    writeFileSync(join(directory, `${chart.id}.${ENDINGS[format]}`), await formatted(chart, format));
}
