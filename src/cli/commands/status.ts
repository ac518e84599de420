/** `enactor status` */
import { type AddCommand, outputOption } from '../command.ts';
import { nodeStatus } from '../node-status.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const statusCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('status'))
    .description('what the daemon of a node holds: ENIs, addresses, pods that wait and why')
    .addOption(outputOption())
    .action(async ({ output, ...options }) => done(await nodeStatus(await debugSocketOf(options), output)));
};
