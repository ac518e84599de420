/**
 * `npm run bench -- [name…] [--json] [--rounds N] [--readme] [--profile NAME]`: a table for people, or JSON, of which the first line is the
 * machine and each other one a figure.
 *
 * The whole program runs again inside network, mount and (when not root) user namespaces of its own, with an empty /run: what
 * a bench makes ends with it, whatever happens. Progress goes to stderr. A missed aim is shown and is no error: figures of a
 * shared machine are for reading. Run by Bun, which reads TypeScript as it is.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { allocWarm } from './alloc-warm.ts';
import { burst } from './burst.ts';
import { burstPlugin } from './burst-plugin.ts';
import { charts } from './charts.ts';
import { cniAdd } from './cni-add.ts';
import { cniParallel } from './cni-parallel.ts';
import { fleet, fleetScale } from './fleet.ts';
import { inspectorBench } from './inspector.ts';
import { machineFacts, machineText, processorTicks } from './machine-facts.ts';
import { type Bench, type Measurement, table } from './measurement.ts';
import { memory } from './memory.ts';
import { observedBench } from './observed.ts';
import { profilesIn } from './profile.ts';
import { withFigures } from './readme-table.ts';
import { restart } from './restart.ts';
import { small } from './small.ts';
import { start } from './start.ts';

const benches: readonly Bench[] = [
  ...[cniAdd, cniParallel, allocWarm, burst, burstPlugin, fleet, fleetScale, start, memory, charts, small],
  ...[restart, observedBench, inspectorBench],
];
const INSIDE = 'ENACTOR_BENCH_INSIDE';
const USAGE = 'usage: npm run bench -- [name…] [--json] [--rounds N] [--readme] [--profile NAME]';
const PROFILES = '.tap/bench-profiles';
const README = 'README.md';

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

/** A bench that tells of two things may be called by either. */
const isCalled = ({ name, also = [] }: Bench, wanted: string): boolean => name === wanted || also.includes(wanted);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      readme: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const { profile = null } = values;
  const names = profile === null ? positionals : [profile];
  const chosen = names.length === 0 ? benches : benches.filter((bench) => names.some((name) => isCalled(bench, name)));
  const unknown = names.filter((name) => !benches.some((bench) => isCalled(bench, name)));
  const rounds = values.rounds === undefined ? null : Number(values.rounds);
  const wrong = unknown.length > 0 ? `no bench is called ${unknown.join(', ')}` : null;
  const badRounds = rounds !== null && !(Number.isInteger(rounds) && rounds > 0) ? '--rounds is a whole number' : null;
  if (values.help || wrong || badRounds) {
    console.error(wrong ?? badRounds ?? USAGE);
    for (const bench of benches)
      console.error(`  ${[bench.name, ...(bench.also ?? [])].join(', ').padEnd(18)} ${bench.summary}`);
    return values.help ? 0 : 2;
  }
  if (process.env[INSIDE] !== '1') return runInside();

  const profileInto = profile === null ? null : resolve(PROFILES, profile);
  if (profileInto !== null) {
    rmSync(profileInto, { recursive: true, force: true });
    mkdirSync(profileInto, { recursive: true });
  }
  const machine = machineFacts();
  if (values.json) console.log(JSON.stringify({ machine }));
  const rows: Measurement[] = [];
  for (const bench of chosen) {
    const before = processorTicks();
    const progress = (text: string): void => console.error(`${bench.name}: ${text}`);
    const measured = await bench.run({ rounds, profileInto, progress });
    const after = processorTicks();
    progress(
      `the processors were busy for ${Math.round((100 * (after.busy - before.busy)) / (after.all - before.all))} %`,
    );
    rows.push(...measured);
    if (values.json) for (const row of measured) console.log(JSON.stringify(row));
  }
  if (!values.json) console.log(`${machineText(machine)}\n\n${table(rows)}`);
  if (values.readme) writeFileSync(README, withFigures(readFileSync(README, 'utf8'), rows, machineText(machine)));
  if (profileInto !== null) {
    const texts = profilesIn(profileInto);
    console.error(
      texts.length === 0 ? `${profile} runs nothing under Node that could be profiled` : texts.join('\n\n'),
    );
  }
  return 0;
}

process.exit(await main());
