/** `enactor simulate`: the simulation, a program of its own beside this one, so that neither carries the other. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { type AddCommand, examples } from '../command.ts';

export const simulateCommand: AddCommand = (enactor, done) => {
  enactor
    .command('simulate')
    .description(
      'runs nodes, cloud and API server in virtual time, seed after seed, and looks for a violated invariant',
    )
    .argument('[options...]', 'as simulate takes them')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .addHelpText(
      'after',
      examples(
        'enactor simulate --seeds 100',
        'enactor simulate --seeds 1 --seed 7 --trace',
        'enactor simulate --days 30',
      ),
    )
    .action(async (options: readonly string[]) => {
      const program = join(import.meta.dirname, 'simulate.js');
      const child = spawn(process.execPath, [program, ...options], { stdio: 'inherit' });
      const code = await new Promise<number>((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', (exitCode, signal) => resolve(exitCode ?? 128 + constants.signals[signal ?? 'SIGTERM']));
      });
      done(code);
    });
};
