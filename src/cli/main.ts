/** `enactor`: runs the command that was asked for, and ends with its exit code when all it has written has left. */
import { CommanderError } from 'commander';
import { EXIT } from './exit-codes.ts';
import { program } from './program.ts';
import { drained, watchStandardOutput } from './standard-output.ts';
import { toldError } from './told-error.ts';

async function main(): Promise<number> {
  let exitCode: number = EXIT.ok;
  try {
    await program((code) => {
      exitCode = code;
    }).parseAsync();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return failed(error);
  }
}

function failed(error: unknown): number {
  const { says, exitCode } = toldError(error);
  process.stderr.write(`enactor: ${says}\n`);
  return exitCode;
}

// What no command has waited for.
process.on('uncaughtException', (error) => process.exit(failed(error)));

watchStandardOutput();
process.exit(await drained(await main()));
