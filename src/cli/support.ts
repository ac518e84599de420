/** `enactor support`: the bundle is gathered, and a gathered one is run again. */
import { release } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { bounded } from '../core/bounded.ts';
import type { Input } from '../core/input-journal.ts';
import { JOURNAL_PAGE_MAX, type JournalPage } from '../core/input-journal.ts';
import { BUNDLE_VERSION, type Life, type SupportBundle } from '../core/support-bundle.ts';
import type { NodeReport, Why } from '../ports/introspection.ts';
import { askNode } from './node-client.ts';

export type Bundle = SupportBundle<NodeReport, Why>;

/** Pods whose why is taken along. */
const WHYS_MAX = 20;
/** As much as a node has; only what is named like a secret is taken out. */
const ALL = { depth: 40, items: 1_000_000, chars: 100_000 };

/** Rejects with CommandError when the daemon does not answer; what a part of it cannot tell is told in its place. */
export async function gathered(socketPath: string, nowMs: number): Promise<Bundle> {
  const life = await askNode<Life>(socketPath, '/v1/life');
  const report = await askNode<NodeReport>(socketPath, '/v1/report');
  const inputs = await inputsOf(socketPath, life, report);
  const without = [...report.waiting.map(({ pod }) => pod), ...(report.refusals ?? []).map(({ pod }) => pod)];
  const whys: Why[] = [];
  for (const pod of [...new Set(without)].slice(0, WHYS_MAX))
    whys.push(await askNode<Why>(socketPath, `/v1/why?pod=${encodeURIComponent(pod)}`));
  const told = (path: string) => askNode<unknown>(socketPath, path).catch((error: Error) => ({ error: error.message }));
  const [config, log] = [await told('/v1/config'), await told('/v1/log')];
  const bundle: Bundle = {
    ...{ enactorSupport: BUNDLE_VERSION, takenAtMs: nowMs, life, report, inputs, whys, config },
    log: Array.isArray(log) ? log : [log],
    program: { node: process.version, platform: `${process.platform} ${process.arch}`, kernel: release() },
  };
  return bounded(bundle, ALL) as Bundle;
}

async function inputsOf(socketPath: string, { seqBefore }: Life, { atSeq }: NodeReport): Promise<readonly Input[]> {
  const inputs: Input[] = [];
  for (let since = seqBefore; ; ) {
    const page = await askNode<JournalPage>(socketPath, `/v1/journal?since=${since}&limit=${JOURNAL_PAGE_MAX}`);
    inputs.push(...page.inputs.filter(({ seq }) => atSeq === undefined || seq <= atSeq));
    if (page.inputs.length < JOURNAL_PAGE_MAX) return inputs;
    since = page.next;
  }
}

/** A replay has neither a store nor a host, and does not know since when things are as they are. */
export type Difference = { readonly what: string; readonly told: unknown; readonly replayed: unknown };

/** In what the replayed node differs from what the node told. Empty: it came to the very same, failures included. */
export async function differences({ life, inputs, report }: Bundle): Promise<readonly Difference[]> {
  const { replayed } = await import('../../actors/replay.ts'); // other commands do without the charts
  const again = replayed(inputs, life.settings);
  const [told, anew] = [plain(report), plain(again.report())];
  again.root.stop();
  return Object.keys(told).flatMap((what) => {
    const [one, other] = [told[what], anew[what]];
    return isDeepStrictEqual(one, other) ? [] : [{ what, told: one, replayed: other }];
  });
}

function plain({
  state,
  missing,
  actors,
  enis,
  leases,
  waiting,
  holds,
  gc,
  pool,
}: NodeReport): Record<string, unknown> {
  const ageless = {
    ...{ state, missing, leases, waiting, holds, pool },
    actors: actors.map(({ path, state: is }) => `${path} ${is}`).sort(),
    enis: enis.map(({ sinceMs: _, phaseSinceMs: __, ...eni }) => eni),
    gc: gc ?? null,
  };
  return JSON.parse(JSON.stringify(ageless)) as Record<string, unknown>;
}
