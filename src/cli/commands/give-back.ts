/** `enactor terway-give-back`: the pods of this node are Terway’s again (deploy/terway.md). */
import { TERWAY_DATABASE } from '../../adapters/bolt/terway-database.ts';
import { failureOf } from '../../core/errors.ts';
import type { Paint } from '../../lab/view/paint.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { type GivenBack, giveBack } from '../give-back.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

export const giveBackCommand: AddCommand = (enactor, done) => {
  enactor
    .command('terway-give-back')
    .description(
      'on a node, as root, with both daemons stopped: writes the leases where Terway’s daemon looks for them',
    )
    .option('--db <file>', 'Terway’s database', TERWAY_DATABASE)
    .option('--data-dir <path>', 'where our store is', '/var/lib/cni/enactor')
    .option('--lock-file <path>', 'of Terway’s daemon', '/var/run/eni/terwayd.lock')
    .option('--cni-conf-dir <path>', 'takes our CNI configuration away there, once the leases are written')
    .option('--leave-out', 'go on without pods that cannot be written: Terway may give their addresses to others')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${examples('enactor terway-give-back')}\n\n1 when a pod cannot be given back, with the reason; then nothing is written. The whole way: deploy/terway.md`,
    )
    .action(async ({ db, dataDir, lockFile, cniConfDir, leaveOut, output }) => {
      const options = { db, dataDir, lockFile, cniConfDir: cniConfDir ?? null, leaveOut: leaveOut === true };
      const given = await giveBack(options, Date.now()).catch((error: unknown) => {
        throw new CommandError(EXIT.cannot, failureOf(error).detail);
      });
      print(given, output, (paint) => lines(given, db, paint));
      done(given.refused.length > 0 ? EXIT.failed : EXIT.ok);
    });
};

function lines({ written, refused, store, before }: GivenBack, db: string, paint: Paint): string[] {
  if (written.length === 0 && refused.length === 0)
    return [`no pod is left to give back, and ${db} stays as it is: start Terway’s daemon now`];
  const rows = [
    ...written.map(({ pod, ipv4, ipv6 }) => [
      `${pod.namespace}/${pod.name}`,
      paint('green', 'written'),
      [ipv4, ipv6].filter((ip) => ip !== null).join(' '),
    ]),
    ...refused.map(({ pod, why }) => [pod, paint('red', 'refused'), why]),
  ];
  if (store === null)
    return [
      ...table(['POD', 'IS', 'WHAT'], rows, paint),
      'nothing was written: Terway would give these addresses to other pods',
    ];
  return [
    ...table(['POD', 'IS', 'WHAT'], rows, paint),
    `${db} holds ${written.length} pods, and was read again`,
    ...(before === null ? [] : [`what it held before is ${before}`]),
    `our store is ${store}; start Terway’s daemon now, with 10-enactor.conflist out of its way`,
  ];
}
