/** `enactor terway-records`: what Terway's daemon remembers of the pods of this node, read from its database file. Nothing is changed. */
import { readTerwayDatabase, TERWAY_DATABASE, type TerwayRecords } from '../../adapters/bolt/terway-database.ts';
import { failureOf } from '../../core/errors.ts';
import type { Paint } from '../../lab/view/paint.ts';
import { forHowLong } from '../../lab/view/words.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

export const terwayRecordsCommand: AddCommand = (enactor, done) => {
  enactor
    .command('terway-records')
    .description('which pods Terway’s daemon has on this node, with their addresses, as its database file says')
    .option('--db <file>', 'its database', TERWAY_DATABASE)
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples('enactor terway-records', 'enactor terway-records --db copy-of-ResRelation.db -o json'),
    )
    .action((options: { readonly db: string; readonly output: 'text' | 'json' | 'yaml' }) => {
      const read = recordsOf(options.db);
      print(read, options.output, (paint) => lines(read, paint));
      done(read.unreadable.length === 0 ? EXIT.ok : EXIT.failed);
    });
};

function recordsOf(path: string): TerwayRecords {
  try {
    const read = readTerwayDatabase(path);
    if (read !== null) return read;
  } catch (error) {
    throw new CommandError(EXIT.cannot, failureOf(error).detail);
  }
  throw new CommandError(EXIT.cannot, `${path}: there is no such file`);
}

function lines({ records, unreadable }: TerwayRecords, paint: Paint): string[] {
  const rows = records.map(({ pod, kind, ipv4, ipv6, eni, reserveMs, containerId }) => [
    `${pod.namespace}/${pod.name}`,
    kind,
    [ipv4, ipv6].filter((ip) => ip !== null).join(' ') || '-',
    eni === null ? '-' : (eni.eniId ?? eni.mac),
    reserveMs === 0 ? '-' : forHowLong(reserveMs),
    containerId || '-',
  ]);
  return [
    ...(rows.length === 0 ? ['no pod'] : table(['POD', 'KIND', 'ADDRESS', 'ENI', 'KEPT FOR', 'SANDBOX'], rows, paint)),
    ...unreadable.map((what) => paint('red', what)),
  ];
}
