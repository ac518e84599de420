/** `enactor config` */
import { type AddCommand, debugSocketOption, outputOption } from '../command.ts';
import { nodeConfig } from '../node-config.ts';

export const configCommand: AddCommand = (enactor, done) => {
  enactor
    .command('config')
    .description('the configuration that holds on a node: each value, who said it, what waits for a restart')
    .addOption(debugSocketOption())
    .addOption(outputOption())
    .action(async ({ debugSocket, output }) => done(await nodeConfig(debugSocket, output)));
};
