/** `enactor charts`: the statecharts as they are built into this program; no node is needed. */

import { mermaidOf } from '../chart-mermaid.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { chartLines, chartTable } from '../node-charts.ts';
import { print } from '../print.ts';

export const chartsCommand: AddCommand = (enactor, done) => {
  enactor
    .command('charts')
    .description('the statecharts that the actors run: all of them, or one with its states and transitions')
    .argument('[id]', 'such as eni')
    .option('--mermaid', 'as a Mermaid state diagram, which GitHub and many editors draw', false)
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples(
        'enactor charts',
        'enactor charts eni',
        'enactor charts lease -o json',
        'enactor charts lease --mermaid',
      ),
    )
    .action(async (id: string | undefined, { output, mermaid }) => {
      if (mermaid && id === undefined) throw new CommandError(EXIT.usage, '--mermaid draws one chart: name it');
      const { charts } = await import('../../../actors/chart-data.ts'); // other commands do without the charts
      const all = charts();
      if (id === undefined) print(all, output, (paint) => chartTable(all, paint));
      else {
        const chart = all.find((one) => one.id === id);
        const ids = all.map((one) => one.id).join(', ');
        if (chart === undefined) throw new CommandError(EXIT.failed, `there is no chart ${id}; there are ${ids}`);
        if (mermaid) process.stdout.write(mermaidOf(chart));
        else print(chart, output, (paint) => chartLines(chart, paint));
      }
      done(EXIT.ok);
    });
};
