/** `enactor status` */
import { type AddCommand, debugSocketOption, outputOption } from '../command.ts';
import { nodeStatus } from '../node-status.ts';

export const statusCommand: AddCommand = (enactor, done) => {
  enactor
    .command('status')
    .description('what the daemon of a node holds: ENIs, addresses, pods that wait and why')
    .addOption(debugSocketOption())
    .addOption(outputOption())
    .action(async ({ debugSocket, output }) => done(await nodeStatus(debugSocket, output)));
};
