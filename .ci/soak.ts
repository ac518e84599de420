/**
 * `npm run soak`: the case files at their own speed (tap) and the files that are too long for `npm test`, then the churn (test/soak) for its default time. With an argument, `--minutes N` or
 * `--seed S`, the churn alone. Builds first; the exit code is 1 when either failed. Run by Bun, which reads TypeScript as it is.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { build } from 'esbuild';

const CHURN = '.tap/soak.mjs';
/** Seconds that one case file may take at its own speed. */
const CASE_TIMEOUT_SECONDS = 7_200;

/** What takes long and is not in `npm test`. */
const LONG = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.long.ts'))
  .map((name) => `test/${name}`);

await import('./build-if-stale.ts');

const run = (command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): boolean => {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  if (error) throw error;
  return status === 0;
};

const given = process.argv.slice(2);
let good = true;
if (given.length === 0) {
  const cases = readdirSync('test/cases').filter((name) => name.endsWith('.test.ts'));
  const files = [...LONG, ...cases.map((name) => `test/cases/${name}`)];
  const tap = ['--disable-coverage', `--timeout=${CASE_TIMEOUT_SECONDS}`, ...files];
  run('.ci/packages.sh', ['soak']);
  run('.ci/vm-kernel.sh', []);
  good = run('node_modules/.bin/tap', tap, { ENACTOR_SPEED: '1' });
}
await build({
  entryPoints: ['test/soak/main.ts'],
  outfile: CHURN,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  logLevel: 'warning',
});
good = run('node', [CHURN, ...given]) && good;
process.exit(good ? 0 : 1);
