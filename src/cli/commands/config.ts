/** `enactor config` */
import { type AddCommand, examples, outputOption } from '../command.ts';
import { nodeConfig } from '../node-config.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const configCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('config'))
    .description('the configuration that holds on a node: each value, who said it, what waits for a restart')
    .addOption(outputOption())
    .addHelpText('after', examples('enactor config', 'enactor config --lab node-1', 'enactor config -o json'))
    .action(async (options) => done(await nodeConfig(await debugSocketOf(options), options.output)));
};
