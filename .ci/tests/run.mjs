/**
 * Runs test files as tap's own runner does, several at a time, but from their bundles (bundle.mjs) and with nothing else loaded into their
 * processes: that runner gives each a recorder and a loader, which cost 0.3 s of CPU before the first test, of 300 processes.
 *
 * `node .ci/tests/run.mjs BUNDLES '{"jobs": 2, "timeout": 240, "alone": [...], "nodeArgs": [...]}' FILE...` prints TAP, a subtest a file, in
 * their order. `timeout` is a file's, in seconds; a file in `alone` runs while no other does. Ends with exit code 1 when a file failed; a signal
 * ends what runs, and the rest counts as failed.
 */
import { readFileSync } from 'node:fs';
import { t } from 'tap';

const [bundles, settings, ...files] = process.argv.slice(2);
const { jobs, timeout, alone, nodeArgs } = JSON.parse(settings);

/** tap puts its recorder into the options of every Node that it starts. */
const AS_IN_LIFE = ['--unset=NODE_OPTIONS'];

/** Some want each source by itself, and say so (register.mjs). */
const program = (file) =>
  /^\/\/ bundle: no\b/m.test(readFileSync(file, 'utf8'))
    ? ['--import=./.ci/tests/register.mjs', file]
    : [`${bundles}/${file.replace(/\.ts$/, '.js')}`];

t.jobs = jobs;
t.setTimeout(0); // a file's ends, the run does not

const started = new Set();
t.on('spawn', (test) => started.add(test));
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    t.on('spawn', (test) => test.once('process', (late) => late.kill('SIGKILL')));
    t.endAll();
    for (const { proc } of started) proc?.kill('SIGKILL');
  });

for (const file of files) {
  t.spawn('env', [...AS_IN_LIFE, process.execPath, ...nodeArgs, ...program(file)], {
    name: file,
    at: null,
    stack: '',
    buffered: jobs > 1 && !alone.includes(file),
    timeout: timeout * 1000,
    env: { ...process.env, TAP_TIMEOUT: `${timeout}` },
  });
}
