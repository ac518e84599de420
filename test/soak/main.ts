/**
 * `npm run soak -- --minutes 30 [--seed S]`: the churn (churn.ts) in a box, progress every few seconds, a summary with figures; exit code 0 or 1.
 * The seed is printed; `--seed` takes it again.
 */
import { parseArgs } from 'node:util';
import { BoxError, insideBox } from '../../src/lab/box/box-command.ts';
import { onStopRequest, runInBox } from '../../src/lab/box/run-in-box.ts';
import { churn } from './churn.ts';

const DEFAULT_MINUTES = '30';
const SEED_MAX = 1_000_000_000;

type Arguments = { readonly durationMs: number; readonly seed: number };

/** Throws RangeError, or what parseArgs throws for an option it does not know. */
function argumentsOf(): Arguments {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: DEFAULT_MINUTES }, seed: { type: 'string' } },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new RangeError(`--minutes ${values.minutes} is no number above 0`);
  const seed = values.seed === undefined ? Math.floor(Math.random() * SEED_MAX) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`--seed ${values.seed} is no whole number`);
  return { durationMs: minutes * 60_000, seed };
}

async function main(): Promise<number> {
  let given: Arguments;
  try {
    given = argumentsOf();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: npm run soak -- [--minutes N] [--seed S]`);
    return 2;
  }
  if (!insideBox()) {
    try {
      return await runInBox([process.execPath, ...process.execArgv, ...process.argv.slice(1)]);
    } catch (error) {
      if (!(error instanceof BoxError)) throw error;
      console.error(`NOT RUN: ${error.message}`);
      return 1;
    }
  }
  const stop = new AbortController();
  onStopRequest(
    () => stop.abort(),
    () => process.exit(130), // asked twice: the kernel takes the box away with us
  );
  const say = (line: string): void => void process.stdout.write(`soak: ${line}\n`);
  say(`seed ${given.seed}, ${given.durationMs / 60_000} minutes`);
  const { ok, failures, summary } = await churn({
    ...given,
    say,
    signal: stop.signal,
    evidence: `.tap/soak-${given.seed}`,
  });
  for (const line of summary.split('\n')) say(line);
  for (const failure of failures) say(`FAILED: ${failure}`);
  say(ok ? 'ok: cloud, store and kernel agree, and no ping was lost without a reason' : 'not ok');
  return ok ? 0 : 1;
}

// A native add-on keeps Node from ending by itself now and then.
process.exit(await main());
