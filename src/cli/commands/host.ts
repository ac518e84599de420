/** `enactor host`: whether this machine will do, before anything is installed; for the init container and for whoever prepares nodes. */
import { release } from 'node:os';
import { glibcVersion } from '../../adapters/netlink/libc-koffi.ts';
import { hostFindings } from '../../core/host-needs.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { whyPluginFails } from '../plugin-trial.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

/** What every node wants; what the configuration adds is the daemon's to look at. */
const WANTS = { daemonMode: 'ENIMultiIP', ipvlan: false, replyPaths: true } as const;

export const hostCommand: AddCommand = (enactor, done) => {
  enactor
    .command('host')
    .description('whether this machine will do: kernel, machine, C library, and the plugin itself')
    .option('--plugin <path>', 'run this plugin, and ask it for its versions')
    .option('--root <dir>', 'the host’s root where it is mounted: the plugin is run in it, with the host’s C library')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${examples('enactor host', 'enactor host --root /host --plugin /opt/cni/bin/enactor-cni')}\n\n1 when it will not do.`,
    )
    .action(({ plugin, root, output }) => {
      const host = { kernel: release(), arch: process.arch, glibc: glibcVersion() };
      const failed = plugin === undefined ? null : whyPluginFails(plugin, root ?? null);
      const refused = [
        ...hostFindings(host, WANTS, null).map(({ says }) => says),
        ...(failed === null ? [] : [failed]),
      ];
      print({ ...host, node: process.versions.node, refused }, output, (paint) =>
        table(
          ['KERNEL', 'MACHINE', 'GLIBC', 'NODE', 'WHAT'],
          (refused.length === 0 ? ['will do'] : refused).map((says, at) => [
            ...(at === 0 ? [host.kernel, host.arch, host.glibc ?? 'none', process.versions.node] : ['', '', '', '']),
            paint(refused.length === 0 ? 'green' : 'red', says),
          ]),
          paint,
        ),
      );
      done(refused.length === 0 ? EXIT.ok : EXIT.failed);
    });
};
