/**
 * `npm run simulate -- --seeds 2000 [--seed 1] [--steps 2000] [--hazards a,b] [--stack dual] [--profile FILE] [--uncovered] [--trace] [--json]`
 *
 * `npm run simulate -- --days 30 [--seed 1]`: one world of so many days, in which keys and tokens end and are renewed (long-run.ts).
 *
 * Runs seeds of at least `--steps` steps each, the rest included, from `--seed` on (a random one when left out, printed), says how it goes, and ends with one line that tells all. A violation is
 * printed with a shortened plan that still shows it; the exit code is then 1.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { type CloudProfile, parseProfile } from '../vpc/cloud-profile.ts';
import { ASSUMPTIONS } from './assumptions.ts';
import { everything } from './coverage.ts';
import { runDays } from './long-run.ts';
import { runSeeds, type SeedResult, serveSeeds } from './many-seeds.ts';
import { runScenario } from './run-seed.ts';
import { HAZARDS, type Hazard, lasting, type ScenarioOptions, STACKS, scenarioOf } from './scenario.ts';
import { describePlan, shorten } from './shorten.ts';

const PROGRESS_MS = 5_000;
/** Failing seeds that are made short; the others are only named. */
const SHORTENED_MAX = 3;
const SEED_MAX = 1_000_000_000;

const USAGE = `Usage: simulate [options]

  --seeds <count>      so many seeds, one after the other (100)
  --seed <number>      the first of them; a random one, which is printed, when left out
  --steps <count>      at least so many steps in each (2000)
  --hazards <names>    only these of ${HAZARDS.join(', ')}; or all
  --stack <name>       ${STACKS.join(', ')}
  --profile <file>     the cloud as it was measured (enactor verify-cloud --write-profile); of the rest a seed takes either side
  --days <count>       one world of so many days instead, in which keys, tokens and reservations end and are renewed
  --trace              every step, of one seed
  --uncovered          the states and transitions that were not visited
  --json               {seeds, steps, checks, violations, statesCovered, transitionsCovered}

Examples:
  simulate --seeds 100
  simulate --seeds 1 --seed 7 --trace
  simulate --days 30

Exit codes: 0 no violation, 1 one, printed with a shortened plan that still shows it, 2 wrong usage.
`;

type Arguments = {
  readonly first: number;
  readonly count: number;
  /** null: seeds of minutes. */
  readonly days: number | null;
  readonly options: ScenarioOptions;
  readonly json: boolean;
  readonly trace: boolean;
  readonly uncovered: boolean;
};

function argumentsOf(argv: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: { type: 'string', default: '100' },
      days: { type: 'string' },
      seed: { type: 'string' },
      steps: { type: 'string', default: '2000' },
      hazards: { type: 'string', default: '' },
      stack: { type: 'string' },
      profile: { type: 'string' },
      'own-enis': { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
      uncovered: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const number = (name: 'seeds' | 'days' | 'steps' | 'seed', text: string): number => {
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < (name === 'seed' ? 0 : 1))
      throw new RangeError(`--${name} ${text} is not a whole number above ${name === 'seed' ? -1 : 0}`);
    return value;
  };
  const hazards = values.hazards === 'all' ? HAZARDS : values.hazards.split(',').filter((name) => name !== '');
  const unknown = hazards.find((name) => !HAZARDS.includes(name as Hazard));
  if (unknown !== undefined) throw new RangeError(`--hazards ${unknown} is none of ${HAZARDS.join(', ')}, all`);
  const stack = STACKS.find((one) => one === values.stack);
  if (values.stack !== undefined && stack === undefined)
    throw new RangeError(`--stack ${values.stack} is none of ${STACKS.join(', ')}`);
  const steps = number('steps', values.steps);
  return {
    count: number('seeds', values.seeds),
    days: values.days === undefined ? null : number('days', values.days),
    first: values.seed === undefined ? Math.floor(Math.random() * SEED_MAX) : number('seed', values.seed),
    options: {
      ...lasting(steps),
      hazards: hazards as Hazard[],
      ...(stack && { stack }),
      ...(values.profile !== undefined && { profile: profileAt(values.profile) }),
      ...(values['own-enis'] && { ownEnis: true }),
    },
    json: values.json,
    trace: values.trace,
    uncovered: values.uncovered,
  };
}

/** Throws RangeError for what cannot be read, or is no profile. */
function profileAt(path: string): CloudProfile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new RangeError(`--profile: ${error instanceof Error ? error.message : error}`);
  }
  return parseProfile(text);
}

async function simulate({ first, count, options, json, trace, uncovered }: Arguments): Promise<number> {
  const say = (text: string): void => void (json ? process.stderr : process.stdout).write(`${text}\n`);
  const startedMs = performance.now();
  const states = new Set<string>();
  const transitions = new Set<string>();
  const failed: SeedResult[] = [];
  const sum = { seeds: 0, steps: 0, checks: 0, crashes: 0, crashed: 0, stepsMin: Number.POSITIVE_INFINITY };
  const combinations = new Set<string>();
  const opposites = new Map<string, number>();
  const rates = (): string => {
    const seconds = (performance.now() - startedMs) / 1000;
    return `${(sum.seeds / seconds).toFixed(1)} schedules/s, ${Math.round(sum.steps / seconds)} steps/s`;
  };
  say(
    `seeds ${first} to ${first + count - 1}${options.hazards?.length ? `, hazards ${options.hazards.join(', ')}` : ''}`,
  );
  const progress = setInterval(
    () => say(`  ${sum.seeds} of ${count} seeds, ${rates()}, ${failed.length} with a violation`),
    PROGRESS_MS,
  );
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  try {
    await runSeeds(seeds, options, new URL(import.meta.url), (result) => {
      sum.seeds += 1;
      sum.steps += result.steps;
      if (result.violation === null) sum.stepsMin = Math.min(sum.stepsMin, result.steps);
      combinations.add(result.opposites.join());
      for (const name of result.opposites) opposites.set(name, (opposites.get(name) ?? 0) + 1);
      sum.checks += result.checks;
      sum.crashes += result.crashes;
      sum.crashed += result.crashes > 0 ? 1 : 0;
      for (const name of result.newStates) states.add(name);
      for (const name of result.newTransitions) transitions.add(name);
      if (result.violation === null) return;
      failed.push(result);
      const { invariant, what, step } = result.violation;
      say(`VIOLATION of ${invariant}, seed ${result.seed}, step ${step}: ${what}`);
    });
  } finally {
    clearInterval(progress);
  }

  const all = everything();
  const covered = (of: ReadonlySet<string>, seen: ReadonlySet<string>) => {
    const missing = [...of].filter((name) => !seen.has(name));
    return { covered: of.size - missing.length, of: of.size, missing };
  };
  const statesCovered = covered(all.states, states);
  const transitionsCovered = covered(all.transitions, transitions);
  const sides = ASSUMPTIONS.map(({ name }) => {
    const second = opposites.get(name) ?? 0;
    return `${name} ${sum.seeds - second}/${second}`;
  });
  say(`assumptions about the cloud, ${combinations.size} combinations (one side/its opposite): ${sides.join(', ')}`);
  if (uncovered) {
    say(`states that no seed was in: ${statesCovered.missing.join(' ') || 'none'}`);
    say(`transitions that no seed took: ${transitionsCovered.missing.join(' ') || 'none'}`);
  }

  const violations = [];
  for (const [index, { seed, violation }] of failed.entries()) {
    if (index >= SHORTENED_MAX) {
      violations.push({ seed, ...violation });
      continue;
    }
    const scenario = scenarioOf(seed, options);
    const short = await shorten(scenario);
    violations.push({ seed, ...violation, plan: short?.plan ?? null });
    if (short === null) {
      say(`seed ${seed} did not fail again: the simulation is not deterministic, which is a fault of its own`);
      continue;
    }
    const { invariant, what, step } = short.violation;
    say(`\nseed ${seed}, made short in ${short.runs} runs: ${short.plan.length} of ${scenario.plan.length} decisions`);
    say(describePlan(scenario, short.plan));
    say(`  violates ${invariant} at step ${step}: ${what}`);
    if (trace) await runScenario(scenario, short.plan, { onLine: say });
  }
  const share = (100 * transitionsCovered.covered) / transitionsCovered.of;
  const stepsMin = Number.isFinite(sum.stepsMin) ? sum.stepsMin : 0;
  const found =
    failed.length === 0 ? 'no violation' : `${failed.length} violated: ${failed.map((one) => one.seed).join(' ')}`;
  say(
    `seeds ${first} to ${first + count - 1}: ${found}; ${sum.steps} steps, ${stepsMin} or more in each; ${sum.crashed} seeds with ` +
      `${sum.crashes} crashes; ${sum.checks} checks; states ${statesCovered.covered} of ${statesCovered.of}, transitions ` +
      `${transitionsCovered.covered} of ${transitionsCovered.of} (${share.toFixed(1)} %); ${rates()}`,
  );
  if (json) {
    const { seeds, steps, checks, crashed, crashes } = sum;
    process.stdout.write(
      `${JSON.stringify({ seeds, steps, stepsMin, crashed, crashes, checks, combinations: combinations.size, violations, statesCovered, transitionsCovered })}\n`,
    );
  }
  return failed.length === 0 ? 0 : 1;
}

async function simulateDays(seed: number, days: number, trace: boolean): Promise<number> {
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  const startedMs = performance.now();
  const seconds = (): string => ((performance.now() - startedMs) / 1_000).toFixed(0);
  say(`seed ${seed}, ${days} days`);
  const outcome = await runDays(seed, days, trace ? { onLine: say } : {}, (day, world) => {
    const mib = Math.round(process.memoryUsage().heapUsed / 1_048_576);
    say(`  day ${day}: ${world.steps} steps, ${world.kubelet.answered} pods, ${mib} MiB, ${seconds()} s`);
  });
  const { violation, steps, checks, crashes, nodes, pods, calls, given } = outcome;
  if (violation !== null)
    say(
      `VIOLATION of ${violation.invariant}, seed ${seed}, step ${violation.step}, after ${(violation.atMs / 86_400_000).toFixed(2)} days: ${violation.what}`,
    );
  for (const one of outcome.grown) say(`GROWN, seed ${seed}: ${one}`);
  say(
    `${pods} pods and ${crashes} starts of the daemon after the first on ${nodes} nodes, ${calls} calls of the cloud, ${given}`,
  );
  const good = violation === null && outcome.grown.length === 0;
  say(`seed ${seed}: ${good ? 'ok' : 'not ok'}; ${days} days in ${seconds()} s, ${steps} steps, ${checks} checks`);
  return good ? 0 : 1;
}

if (!isMainThread) serveSeeds();
else {
  try {
    if (process.argv.includes('--help')) process.stdout.write(USAGE);
    else {
      const given = argumentsOf(process.argv.slice(2));
      process.exitCode =
        given.days === null ? await simulate(given) : await simulateDays(given.first, given.days, given.trace);
    }
  } catch (error) {
    if (!(error instanceof RangeError) && !(error instanceof TypeError)) throw error;
    process.stderr.write(`simulate: ${error.message}\n`);
    process.exitCode = 2;
  }
}
