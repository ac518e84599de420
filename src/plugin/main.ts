/**
 * The plugin, compiled by Bun into one executable: every millisecond here is a millisecond of every pod's start, so it loads
 * no more than it calls and writes with writeSync. Source: facts/ground, plugin start-up.
 */
import { writeSync } from 'node:fs';
import { postOverStreams } from '../adapters/http/post-streams.ts';
import { openBunLibc } from '../adapters/netlink/libc-bun.ts';
import { CNI_CODE, CniError, cniErrorOf, errorObject } from './cni-error.ts';
import { NEWEST_VERSION } from './cni-version.ts';
import { DEFAULT_CALL_LIMITS } from './daemon-calls.ts';
import { hostDatapath } from './host-datapath.ts';
import { type Answer, runPlugin } from './run-plugin.ts';
import { readStdin } from './stdin.ts';

const STDOUT = 1;
const STDERR = 2;

process.umask(0o022); // directories of ours are nobody else's to write, whatever mask the runtime has
Error.stackTraceLimit = 0; // nobody reads a stack here, and ENOENT is an everyday answer

let answered = false;

/** Once: a second answer would make the first unreadable. Ends the process. */
function answer({ exitCode, stdout, stderr }: Answer): void {
  if (answered) return;
  answered = true;
  let code = exitCode;
  try {
    if (stdout !== null) writeAll(STDOUT, `${JSON.stringify(stdout)}\n`);
  } catch {
    code = 1; // the runtime could not read the result; its DEL follows
  }
  try {
    if (stderr !== '') writeAll(STDERR, stderr);
  } catch {
    // stderr may be closed.
  }
  process.exit(code);
}

function writeAll(fd: number, text: string): void {
  let rest = Buffer.from(text, 'utf8');
  while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
}

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(name, () => stop.abort(new CniError(CNI_CODE.tryAgainLater, `the plugin was ended by ${name}`)));
}
const fail = (error: unknown): void =>
  answer({ exitCode: 1, stdout: errorObject(cniErrorOf(error), NEWEST_VERSION), stderr: '' });
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);

runPlugin({
  env: process.env,
  readStdin,
  post: postOverStreams(openBunLibc()),
  terway: async (configuration) =>
    (await import('./terway-connection.ts')).terwayConnection(configuration, openBunLibc()),
  datapath: () => hostDatapath(openBunLibc()),
  nowMs: Date.now,
  signal: stop.signal,
  limits: DEFAULT_CALL_LIMITS,
}).then(answer, fail);
