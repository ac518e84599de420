/**
 * Import this before anything else in a test that needs namespaces: outside a box it runs the same file again inside one,
 * passes the output on and ends with its exit code; where no box can be had it says so, loudly, as a skipped test.
 *
 * Only the process itself is replaced: tap sees one child as ever.
 */
import { spawnSync } from 'node:child_process';
import { BOX_VARIABLE, BoxError, boxCommand, insideBox } from '../../src/lab/box/box-command.ts';

if (!insideBox()) {
  try {
    const box = boxCommand();
    const args = [...box.args, process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    const env = { ...process.env, [BOX_VARIABLE]: box.rootless ? 'rootless' : 'root' };
    const { status, error } = spawnSync(box.command, args, { stdio: 'inherit', env });
    if (error) throw error;
    process.exit(status ?? 1);
  } catch (error) {
    if (!(error instanceof BoxError)) throw error;
    console.error(`NOT RUN: ${error.message}`);
    console.log(`TAP version 14\n1..0 # SKIP NOT RUN: ${error.message.replaceAll('\n', ' ')}`);
    process.exit(0);
  }
}

/**
 * Node 20 may spin for ever when it tidies up after a native add-on at a natural end (Environment::CleanupHandles waits for a request
 * that never ends; seen once in a few hundred runs). So the process leaves by itself, once whoever reports has registered for its end.
 */
process.once('beforeExit', () => {
  process.on('exit', (code) => {
    (process as unknown as { reallyExit(code: number): never }).reallyExit(Number(process.exitCode ?? code)); // not in Node's types
  });
});
