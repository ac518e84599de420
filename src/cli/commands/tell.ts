/** `enactor gc` and `enactor sync`: the two things that a node may be told from here. */
import type { NodeCommand } from '../../ports/introspection.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { askNode } from '../node-client.ts';
import { print } from '../print.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

const words: Readonly<Record<NodeCommand, { readonly description: string; readonly told: string }>> = {
  gc: {
    description: 'compare leases with the node’s pods now, not at the end of gc_period',
    told: 'a pass begins; leases go when two passes, gc_grace apart, agree (enactor status tells of it)',
  },
  sync: {
    description: 'compare cloud and host with what the node knows now',
    told: 'cloud and host are being looked at (enactor status and the log tell what was found)',
  },
};

export const tellCommands: AddCommand = (enactor, done) => {
  for (const [name, { description, told }] of Object.entries(words)) {
    withNode(enactor.command(name))
      .description(description)
      .addOption(outputOption())
      .addHelpText(
        'after',
        `${examples(`enactor ${name}`, `enactor ${name} --lab node-1`)}\n\nRefused (1) when the configuration says debug_commands: false.`,
      )
      .action(async ({ output, ...options }) => {
        const accepted = await askNode(await debugSocketOf(options), `/v1/commands/${name}`, 'POST');
        print(accepted, output, () => [told]);
        done(EXIT.ok);
      });
  }
};
