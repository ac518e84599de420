/**
 * Tries what we assume of the cloud on a cloud: one ENI is made, asked about, given addresses, attached, detached and deleted, and each
 * answer is put beside what the simulated cloud would have said. Whatever happens, what was made is taken away.
 */
import { failureOf } from '../core/errors.ts';
import { Bench, type BenchOptions } from './bench.ts';
import { type CleanUp, cleanUp } from './clean-up.ts';
import { addresses } from './experiments/addresses.ts';
import { attachment } from './experiments/attachment.ts';
import { creation } from './experiments/creation.ts';
import { listing } from './experiments/listing.ts';
import { removal } from './experiments/removal.ts';
import type { Finding } from './finding.ts';

/** On every ENI that a verification makes; its value is the run. */
export const RUN_TAG = 'enactor/verify';

export type Verification = {
  readonly findings: readonly Finding[];
  /** What ended it before its end; null: it came to its end. */
  readonly failure: string | null;
  readonly calls: number;
  readonly cleanUp: CleanUp;
};

const CLEAN_UP_LIMIT_MS = 180_000;

const nothingMade: CleanUp = { removed: [], left: [] };

async function unanswered(raw: BenchOptions['raw'], tags: Readonly<Record<string, string>>): Promise<string | null> {
  try {
    const reply = await raw.describe({ tags });
    return reply.ok ? null : `${reply.code}: ${reply.message}`;
  } catch (error) {
    return failureOf(error).detail;
  }
}

/** Never rejects: what went wrong is in the answer, beside what was found until then. `cleaner` outlives the signal of the run. */
export async function verifyCloud(
  options: BenchOptions & { readonly cleaner: BenchOptions['raw'] },
): Promise<Verification> {
  const { plan, raw, cleaner } = options;
  const findings: Finding[] = [];
  const found = (finding: Finding) => {
    findings.push(finding);
    options.found(finding);
  };
  const bench = new Bench({ ...options, found });
  bench.doing('the cloud is asked whether it answers');
  // What cannot be listed could not be taken away: nothing is made then.
  const deaf = await unanswered(raw, plan.tags);
  if (deaf !== null) return { findings, failure: deaf, calls: raw.calls, cleanUp: nothingMade };
  let failure: string | null = null;
  try {
    const eni = await creation(bench);
    await listing(bench, eni);
    await addresses(bench, eni);
    await attachment(bench, eni);
    await removal(bench, eni);
  } catch (error) {
    failure = error instanceof Error ? failureOf(error).detail : String(error);
  }
  for (const finding of bench.timeFindings()) found(finding);
  bench.doing('what was made is taken away');
  const taken = await cleanUp(cleaner, plan.tags, { pauseMs: Math.max(500, plan.pollMs), limitMs: CLEAN_UP_LIMIT_MS });
  return { findings, failure, calls: raw.calls, cleanUp: taken };
}
