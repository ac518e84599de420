/** `enactor`: runs the command that was asked for, and ends with its exit code when all it has written has left. */
import { CommanderError } from 'commander';
import { CommandError, EXIT } from './exit-codes.ts';
import { program } from './program.ts';
import { drained, watchStandardOutput } from './standard-output.ts';

async function main(): Promise<number> {
  let exitCode: number = EXIT.ok;
  try {
    await program((code) => {
      exitCode = code;
    }).parseAsync();
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof CommandError) {
      process.stderr.write(`enactor: ${error.message}\n`);
      return error.exitCode;
    }
    process.stderr.write(`enactor: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return EXIT.failed;
  }
}

watchStandardOutput();
process.exit(await drained(await main()));
