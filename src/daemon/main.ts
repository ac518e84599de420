/**
 * enactord. Exit codes: 0 after SIGTERM or SIGINT, 1 when it could not start, 2 after wrong usage, which is told in one line, 70 when it could
 * not go on (sysexits EX_SOFTWARE).
 *
 * A second signal changes nothing: the end is bounded, and an unclean one would cost the callers their answers.
 */
import { CommanderError } from 'commander';
import { jsonLog, writeStandardOutput } from '../adapters/logging/json-log.ts';
import { LogTap } from '../adapters/logging/log-tap.ts';
import { failureOf } from '../core/errors.ts';
import { runDaemon } from './daemon.ts';
import { type Flags, parseFlags } from './flags.ts';

const OTHERS_MAY_NOT_WRITE = 0o022;
const EXIT_NOT_STARTED = 1;
const EXIT_USAGE = 2;
const EXIT_NOT_GOING_ON = 70;

// Whatever mask we were started with: directories that others may write would let them put sockets and notes of theirs in place of ours.
process.umask(OTHERS_MAY_NOT_WRITE);
const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
// Whoever reads our log may go away; that is no reason to take the node's network down.
process.on('SIGPIPE', () => {});

let started = false;
const flags = flagsOrEnd();
const tap = new LogTap(writeStandardOutput);
const log = jsonLog('enactord', flags.logLevel ?? 'info', tap.write);
// A function, since a script has no await of its own (boot.ts).
void main();

async function main(): Promise<void> {
  try {
    for (const event of ['uncaughtException', 'unhandledRejection'] as const)
      process.on(event, (thrown) => {
        log.error({ err: thrown }, 'the daemon met a fault that nobody handles');
        process.exit(EXIT_NOT_GOING_ON);
      });
    await runDaemon(flags, { log, tap }, stop.signal, () => {
      started = true;
    });
    process.exit(0);
  } catch (thrown) {
    if (stop.signal.aborted) process.exit(0);
    const { code, detail } = failureOf(thrown);
    log.error({ code, err: thrown }, started ? 'the daemon cannot go on' : 'the daemon cannot start');
    console.error(`enactord: ${detail}`);
    process.exit(started ? EXIT_NOT_GOING_ON : EXIT_NOT_STARTED);
  }
}

/** Whoever typed the command reads the answer: a sentence, neither a log nor a stack. */
function flagsOrEnd(): Flags {
  try {
    return parseFlags(process.argv.slice(2));
  } catch (thrown) {
    if (thrown instanceof CommanderError) process.exit(thrown.exitCode === 0 ? 0 : EXIT_USAGE); // commander has told it
    console.error(`enactord: ${failureOf(thrown).detail} (--help lists the flags)`);
    process.exit(EXIT_USAGE);
  }
}
