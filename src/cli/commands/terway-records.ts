/** `enactor terway-records`: what Terway's daemon remembers of the pods of this node, read from its database file. Nothing is changed. */
import { readFileSync } from 'node:fs';
import { BoltError, readBucket } from '../../adapters/bolt/bolt-reader.ts';
import { parseTerwayRecord, type TerwayRecord } from '../../core/terway-record.ts';
import type { Paint } from '../../lab/view/paint.ts';
import { forHowLong } from '../../lab/view/words.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

const DATABASE = '/var/lib/cni/terway/ResRelation.db';
const BUCKET = 'relation';

type Read = { readonly records: readonly TerwayRecord[]; readonly unreadable: readonly string[] };

export const terwayRecordsCommand: AddCommand = (enactor, done) => {
  enactor
    .command('terway-records')
    .description('which pods Terway’s daemon has on this node, with their addresses, as its database file says')
    .option('--db <file>', 'its database', DATABASE)
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

/** A record that cannot be read hides none of the others. */
function recordsOf(path: string): Read {
  const records: TerwayRecord[] = [];
  const unreadable: string[] = [];
  for (const [key, value] of bucketAt(path)) {
    try {
      records.push(parseTerwayRecord(key, value.toString()));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      unreadable.push(error.message);
    }
  }
  return { records, unreadable };
}

function bucketAt(path: string): ReadonlyMap<string, Buffer> {
  try {
    const bucket = readBucket(readFileSync(path), BUCKET);
    if (bucket !== null) return bucket;
  } catch (error) {
    if (error instanceof BoltError || (error instanceof Error && 'code' in error))
      throw new CommandError(EXIT.cannot, `${path}: ${error.message}`);
    throw error;
  }
  throw new CommandError(EXIT.cannot, `${path}: it has no bucket “${BUCKET}”: is it Terway’s resource database?`);
}

function lines({ records, unreadable }: Read, paint: Paint): string[] {
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
