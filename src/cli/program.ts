/** `enactor`: a table of commands. Each is a file in commands/ that adds itself, so that a new one is a line here. */

import { Command } from 'commander';
import { VERSION } from '../core/version.ts';
import type { AddCommand, Done } from './command.ts';
import { actorsCommand } from './commands/actors.ts';
import { chartsCommand } from './commands/charts.ts';
import { completionCommand } from './commands/completion.ts';
import { configCommand } from './commands/config.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eniCommand } from './commands/eni.ts';
import { eventsCommand, journalCommand } from './commands/events.ts';
import { giveBackCommand } from './commands/give-back.ts';
import { hostCommand } from './commands/host.ts';
import { inspectCommand } from './commands/inspect.ts';
import { installCommands } from './commands/install.ts';
import { labCommand } from './commands/lab.ts';
import { leasesCommand } from './commands/leases.ts';
import { planCommand } from './commands/plan.ts';
import { simulateCommand } from './commands/simulate.ts';
import { statusCommand } from './commands/status.ts';
import { supportCommand } from './commands/support.ts';
import { tellCommands } from './commands/tell.ts';
import { terwayCommands } from './commands/terway.ts';
import { terwayRecordsCommand } from './commands/terway-records.ts';
import { verifyCloudCommand } from './commands/verify-cloud.ts';
import { watchCommand } from './commands/watch.ts';
import { whyCommand } from './commands/why.ts';

/** By the headings of `--help`, in its order. */
const COMMANDS: Readonly<Record<string, readonly AddCommand[]>> = {
  'A node:': [
    ...[statusCommand, doctorCommand, whyCommand, leasesCommand, eniCommand],
    ...[configCommand, tellCommands, supportCommand, hostCommand, installCommands],
  ],
  'Its actors:': [watchCommand, inspectCommand, actorsCommand, eventsCommand, journalCommand, chartsCommand],
  'As terway-cli has them:': [terwayCommands, terwayRecordsCommand, giveBackCommand],
  'Without a node:': [labCommand, simulateCommand, planCommand, verifyCloudCommand, completionCommand],
};

/** All of `enactor`; `done` hears each command’s exit code. */
export function program(done: Done): Command {
  const enactor = new Command('enactor')
    .version(VERSION, '--version', 'of this package')
    .enablePositionalOptions()
    .description('Pod addresses from the VPC on Alibaba Cloud nodes: the lab, and a look at a node’s daemon')
    .exitOverride()
    .showHelpAfterError('(add --help for what there is)')
    .addHelpText(
      'after',
      `
Examples:
  enactor lab up                 a VPC in a box, live in this terminal; Ctrl-C leaves nothing behind
  enactor lab up --once          builds it, tries every path, takes it down; exit code 0 or 1
  enactor lab pod add hello      in another terminal: one more pod
  enactor lab ledger             what the cloud was asked for
  enactor status                 what the daemon of this node holds
  enactor doctor                 what is wrong on this node, and what to do
  enactor why web-1              why this pod has its address, or has none
  enactor watch                  the node live, on the whole screen
  enactor config                 its configuration, and where each value comes from

Exit codes: 0 well, 1 failed, 2 wrong usage, 3 not possible here (no daemon answers), 130 interrupted, 141 the reader left.`,
    );
  for (const [heading, commands] of Object.entries(COMMANDS)) {
    enactor.commandsGroup(heading);
    for (const add of commands) add(enactor, done);
  }
  return enactor;
}
