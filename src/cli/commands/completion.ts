/** `enactor completion SHELL`: what a shell needs to complete our commands and options, made from the program itself. */
import { Argument } from 'commander';
import { type AddCommand, examples } from '../command.ts';
import { completionScript, SHELLS } from '../completion-script.ts';
import { EXIT } from '../exit-codes.ts';

export const completionCommand: AddCommand = (enactor, done) => {
  enactor
    .command('completion')
    .description('print what makes a shell complete commands and options')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      examples(
        'source <(enactor completion bash)',
        'enactor completion zsh > ~/.zfunc/_enactor       a directory of your $fpath',
        'enactor completion fish > ~/.config/fish/completions/enactor.fish',
      ),
    )
    .action((shell) => {
      process.stdout.write(completionScript(enactor, shell));
      done(EXIT.ok);
    });
};
