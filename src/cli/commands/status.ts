/** `enactor status` */
import { type AddCommand, examples, outputOption } from '../command.ts';
import { nodeStatus } from '../node-status.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const statusCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('status'))
    .description('what the daemon of a node holds: ENIs, addresses, pods that wait and why')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${examples('enactor status', 'enactor status --lab node-1', "enactor status -o json | jq '.pool.counts'")}

SINCE: an ENI is in use, or on its way, for so long; beside a call of it, how long that has been under way.`,
    )
    .action(async ({ output, ...options }) => done(await nodeStatus(await debugSocketOf(options), output)));
};
