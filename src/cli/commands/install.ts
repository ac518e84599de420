/** `enactor install` and `enactor uninstall`: the node's part of an installation, for the DaemonSets of deploy/, or by hand. */
import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { glibcVersion } from '../../adapters/netlink/libc-koffi.ts';
import { PLUGIN_NAME } from '../../lab/programs.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { hostChecks } from '../install/host-checks.ts';
import { install } from '../install/install.ts';
import { primaryDevice } from '../install/primary-device.ts';
import { hostLinks, obstacles, removeFiles, removeKernelObjects } from '../install/uninstall.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

const HUES = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

export const installCommands: AddCommand = (enactor, done) => {
  enactor
    .command('install')
    .description(
      'on a node, as root: checks the host, puts the plugin in its place, tells DHCP agents to leave our ENIs alone',
    )
    .option('--host-root <path>', 'where the host’s /etc, /usr and /opt/cni/bin are', '/')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${examples('enactor install', 'enactor install --host-root /host')}\n\n1 when the host cannot be used; then nothing is written.`,
    )
    .action(({ hostRoot, output }) => {
      const checks = hostChecks({ kernel: release(), arch: process.arch, glibc: glibcVersion() }, hostRoot);
      const refused = checks.some(({ is }) => is === 'problem');
      const primary = primaryDevice();
      const steps = refused ? [] : told(() => install(hostRoot, pluginBeside(), primary));
      const note = primary === null && !refused ? ['no default route: DHCP agents are told nothing'] : [];
      print({ checks, steps }, output, (paint) => [
        ...table(
          ['CHECK', 'IS', 'WHAT'],
          checks.flatMap(({ check, is, says, whatToDo }) => [
            [check, paint(HUES[is], is), says],
            ...(whatToDo === null ? [] : [['', '', `what to do: ${whatToDo}`]]),
          ]),
          paint,
        ),
        ...steps.map(({ what, path, is }) => `${what}: ${join(hostRoot, path)} ${is}`),
        ...note,
        ...(steps.length > 1
          ? [
              'Agents that run already read it at their next start, or with `systemctl reload NetworkManager`, `networkctl reload`.',
            ]
          : []),
      ]);
      done(refused ? EXIT.failed : EXIT.ok);
    });
  enactor
    .command('uninstall')
    .description('on a node, as root, without pods and daemon: takes off it all that an installation has left there')
    .option('--host-root <path>', 'where the host’s /etc, /opt/cni/bin, /run/eni and /var/lib/cni are', '/')
    .option('--force', 'also when pods or the daemon seem to be there')
    .addOption(outputOption())
    .addHelpText('after', examples('enactor uninstall', 'enactor uninstall --host-root /host'))
    .action(({ hostRoot, force, output }) => {
      const against = obstacles(hostRoot, hostLinks());
      if (against.length > 0 && force !== true) throw new CommandError(EXIT.failed, against.join('; '));
      const [files, rules] = told(() => [removeFiles(hostRoot), removeKernelObjects()] as const);
      print({ files, rules }, output, () => [
        ...files.map((path) => `removed ${join(hostRoot, path)}`),
        ...rules.map((rule) => `removed ip rule ${rule}`),
        'nothing of enactor is left on this node',
      ]);
      done(EXIT.ok);
    });
};

function pluginBeside(): string {
  const path = join(dirname(fileURLToPath(import.meta.url)), PLUGIN_NAME);
  if (existsSync(path)) return path;
  throw new CommandError(EXIT.cannot, `${path} is not there: install is run from dist/ or the image`);
}

/** A path that cannot be written is a sentence, not a stack. */
function told<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof CommandError || !(error instanceof Error)) throw error;
    throw new CommandError(EXIT.failed, error.message);
  }
}
