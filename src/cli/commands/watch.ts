/** `enactor watch` */
import { type AddCommand, examples } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupted.ts';
import { watchNode } from '../node-watch.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const watchCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('watch'))
    .description('one node live, on the whole screen: ENIs and their addresses, who waits and why, what happens')
    .addHelpText('after', `${examples('enactor watch', 'enactor watch --lab node-1')}\n\nCtrl-C or q ends it.`)
    .action(async (options) => {
      const socket = await debugSocketOf(options);
      if (!process.stdout.isTTY)
        throw new CommandError(EXIT.usage, 'watch needs a terminal; enactor events is for pipes');
      done(await untilInterrupted((signal) => watchNode(socket, signal)));
    });
};
