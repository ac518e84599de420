/** `enactor actors`: the tree of actors, or one of them in full. */
import type { ActorDetail, ActorReport } from '../../ports/introspection.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { actorLines, actorTree, shortName } from '../node-actors.ts';
import { askAll, askNode } from '../node-client.ts';
import { print } from '../print.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const actorsCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('actors'))
    .description('the actors of a node: which there are, in which state and since when; or one of them in full')
    .argument('[path]', 'as the tree shows it; the last part will do where only one actor has it')
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples(
        'enactor actors',
        'enactor actors eni:0                 its state, its context, and what it would hear of',
        `enactor actors -o json | jq -r '.[] | select(.chart == "lease").path'`,
      ),
    )
    .action(async (path: string | undefined, options) => {
      const socket = await debugSocketOf(options);
      const actors = await askAll<ActorReport>(socket, '/v1/actors');
      if (path === undefined) print(actors, options.output, (paint) => actorTree(actors, Date.now(), paint));
      else {
        const full = fullPath(actors, path);
        const actor = await askNode<ActorDetail>(socket, `/v1/actors/${encodeURIComponent(full)}`);
        print(actor, options.output, (paint) => actorLines(actor, Date.now(), paint));
      }
      done(EXIT.ok);
    });
};

/** What the daemon knows nothing of is left to it to refuse. */
function fullPath(actors: readonly ActorReport[], path: string): string {
  if (actors.some((actor) => actor.path === path)) return path;
  const ending = actors.filter((actor) =>
    [actor.path, shortName(actor.path)].some((one) => `/${one}`.endsWith(`/${path}`)),
  );
  return ending.length === 1 ? (ending[0]?.path ?? path) : path;
}
