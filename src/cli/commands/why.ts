/** `enactor why POD` */
import type { Why } from '../../ports/introspection.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { askNode } from '../node-client.ts';
import { whyLines } from '../node-why.ts';
import { print } from '../print.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const whyCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('why'))
    .description('why a pod has its address, or has none: what was decided, what refuses, when the next try is')
    .argument('<pod>', 'name, or namespace/name')
    .option('-n, --namespace <name>', 'of the pod', 'default')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${examples(
        'enactor why web-1                 how it came by its address, and how long each stage took',
        'enactor why kube-system/coredns-x',
        'enactor why web-1 -o json | jq .nextTryMs',
      )}

Exit codes: 0 it has an address, 1 it has none, 3 no daemon answers.`,
    )
    .action(async (named: string, options) => {
      const pod = named.includes('/') ? named : `${options.namespace}/${named}`;
      if (!/^[^/\s]+\/[^/\s]+$/.test(pod))
        throw new CommandError(EXIT.usage, `${named} is no pod: name, or namespace/name`);
      const why = await askNode<Why>(await debugSocketOf(options), `/v1/why?pod=${encodeURIComponent(pod)}`);
      print(why, options.output, (paint) => whyLines(why, Date.now(), paint));
      done(why.verdict === 'bound' ? EXIT.ok : EXIT.failed);
    });
};
