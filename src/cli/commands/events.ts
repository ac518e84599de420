/** `enactor events` and `enactor journal`: what happens among the actors, and what has entered them. */
import { JOURNAL_PAGE_MAX, type JournalPage } from '../../core/input-journal.ts';
import { paintFor } from '../../lab/view/paint.ts';
import { visible } from '../../lab/view/visible.ts';
import type { Inspected } from '../../ports/inspected.ts';
import { type AddCommand, countTo, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupted.ts';
import { askNode, nodeLines } from '../node-client.ts';
import { eventLine, eventStates, inputLine } from '../node-events.ts';
import { print, yamlOf } from '../print.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const eventsCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('events'))
    .description('what the actors tell each other and become, live; the node is watched only meanwhile')
    .option('--actor <path>', 'only this actor and what is below it, such as node/eniFactory')
    .option('--context', 'with the contexts of the charts (json, yaml)', false)
    .option('--log', 'the daemon’s log lines instead', false)
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${examples(
        'enactor events',
        'enactor events --actor node/eniFactory/eni:0',
        `enactor events -o json | jq -c 'select(.kind == "state")'`,
        'enactor events --log',
      )}

With -o json each line is one object, with -o yaml each is a document. Ctrl-C ends it (130).`,
    )
    .action(async ({ actor, context, log, output, ...options }) => {
      const socket = await debugSocketOf(options);
      const query = new URLSearchParams({
        ...(actor === undefined ? {} : { actor }),
        ...(context ? { context: '1' } : {}),
      });
      const path = log ? '/v1/streams/log' : `/v1/streams/inspection?${query}`;
      const states = eventStates();
      const paint = paintFor(process.stdout);
      const code = await untilInterrupted(async (signal) => {
        for await (const line of nodeLines(socket, path, signal)) {
          if (output === 'yaml') process.stdout.write(`---\n${yamlOf(JSON.parse(line))}`);
          else {
            const text = log || output === 'json' ? line : eventLine(JSON.parse(line) as Inspected, states, paint);
            if (text !== null) process.stdout.write(`${visible(text)}\n`);
          }
        }
      });
      done(code);
    });
};

export const journalCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('journal'))
    .description('what has entered the actors from outside: calls, results, timers; enough to replay the run')
    .option('--since <seq>', 'only what came after this input')
    .option('--last <n>', 'how many of the last ones (default: 50, or all with --since or -o)', countTo(100_000))
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples('enactor journal', 'enactor journal --last 5', 'enactor journal -o json > journal.json'),
    )
    .action(async ({ since = '0', last, output, ...options }) => {
      const from = Number(since);
      if (!Number.isSafeInteger(from) || from < 0) throw new CommandError(EXIT.usage, '--since: a whole number');
      const all = await wholeJournal(await debugSocketOf(options), from);
      const shown = last ?? (output === 'text' && from === 0 ? 50 : all.length);
      const inputs = shown === 0 ? [] : all.slice(-shown);
      print(inputs, output, (paint) => inputs.map((input) => inputLine(input, paint)));
      done(EXIT.ok);
    });
};

async function wholeJournal(socket: string, since: number): Promise<JournalPage['inputs']> {
  const inputs: JournalPage['inputs'][number][] = [];
  for (let from = since; ; ) {
    const page = await askNode<JournalPage>(socket, `/v1/journal?since=${from}&limit=${JOURNAL_PAGE_MAX}`);
    inputs.push(...page.inputs);
    if (page.inputs.length < JOURNAL_PAGE_MAX) return inputs;
    from = page.next;
  }
}
