/**
 * `npm run bench -- [name…] [--json] [--rounds N]`: a table for people, or one JSON object a line.
 *
 * The whole program runs again inside network, mount and (when not root) user namespaces of its own, with an empty /run: what
 * a bench makes ends with it, whatever happens. Progress goes to stderr. A missed aim is shown and is no error: figures of a
 * shared machine are for reading. Run by Bun, which reads TypeScript as it is.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { burst } from './burst.ts';
import { cniAdd } from './cni-add.ts';
import { inspectorBench } from './inspector.ts';
import { type Bench, type Measurement, table } from './measurement.ts';
import { observedBench } from './observed.ts';
import { restart } from './restart.ts';

const benches: readonly Bench[] = [burst, cniAdd, restart, observedBench, inspectorBench];
const INSIDE = 'ENACTOR_BENCH_INSIDE';

function runInside(): number {
  const own = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const prepare = 'mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up && exec "$@"';
  const { status, error } = spawnSync(
    'unshare',
    [
      ...[...own, '--net', '--mount', '--propagation', 'private'],
      ...['--', 'sh', '-c', prepare, 'sh', process.execPath, fileURLToPath(import.meta.url), ...process.argv.slice(2)],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, [INSIDE]: '1' } },
  );
  if (error) throw error;
  return status ?? 1;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, rounds: { type: 'string' }, help: { type: 'boolean' } },
  });
  const chosen = positionals.length === 0 ? benches : benches.filter((bench) => positionals.includes(bench.name));
  const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
  const rounds = values.rounds === undefined ? null : Number(values.rounds);
  const wrong = unknown.length > 0 ? `no bench is called ${unknown.join(', ')}` : null;
  const badRounds = rounds !== null && !(Number.isInteger(rounds) && rounds > 0) ? '--rounds is a whole number' : null;
  if (values.help || wrong || badRounds) {
    console.error(wrong ?? badRounds ?? 'usage: npm run bench -- [name…] [--json] [--rounds N]');
    for (const bench of benches) console.error(`  ${bench.name.padEnd(12)} ${bench.summary}`);
    return values.help ? 0 : 2;
  }
  if (process.env[INSIDE] !== '1') return runInside();

  const rows: Measurement[] = [];
  for (const bench of chosen) {
    const measured = await bench.run({ rounds, progress: (text) => console.error(`${bench.name}: ${text}`) });
    rows.push(...measured);
    if (values.json) for (const row of measured) console.log(JSON.stringify(row));
  }
  if (!values.json) console.log(table(rows));
  return 0;
}

process.exit(await main());
