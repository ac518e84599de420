/**
 * The lab as a check: build, start pods, try every path in every direction, take down, and count.
 *
 * Fails when a path does not work, when a kind of path could not be tried, when the router saw a routing fault, when a process died, or when
 * something was left.
 */
import type { Lab, LabOptions } from '../lab.ts';
import { startLab } from '../lab.ts';
import { NOTHING_REFUSED, type RefusedCounts } from '../router/refused.ts';
import { kindsIn, type PathKind, pathsOf } from './path-plan.ts';
import { plantWrongRule } from './plant-wrong-rule.ts';
import { type PathOutcome, tryPaths } from './try-paths.ts';

/** Of each kind of path. */
const FAILURES_SHOWN = 5;

export type OnceOptions = Omit<LabOptions, 'say'> & {
  readonly pods: number;
  readonly plant: 'wrong-rule' | null;
  readonly say: (line: string) => void;
  /** Fires when the user has had enough: the lab is then taken down, and the check fails. */
  readonly signal: AbortSignal;
};

export type OnceResult = {
  readonly ok: boolean;
  readonly pods: number;
  readonly tried: number;
  readonly worked: number;
  readonly refused: RefusedCounts;
  readonly trouble: readonly string[];
};

export async function checkOnce(options: OnceOptions): Promise<OnceResult> {
  const { say, signal } = options;
  const lab = await startLab(options);
  const trouble: string[] = [];
  let outcomes: PathOutcome[] = [];
  let refused = NOTHING_REFUSED;
  try {
    trouble.push(...(await startPods(lab, options.pods, say, signal)));
    if (options.plant !== null && !signal.aborted) say(await plantWrongRule(lab));
    outcomes = signal.aborted ? [] : await tryAll(lab, kindsIn(options.mode ?? 'ENIMultiIP'), say);
    refused = lab.refused();
  } catch (error) {
    trouble.push(error instanceof Error ? error.message : String(error));
  }
  if (options.config?.ip_stack === 'dual' && !outcomes.some(({ family }) => family === 6))
    trouble.push('no path was tried over IPv6');
  const running = [...lab.pods.values()].filter((pod) => pod.phase === 'running').length;
  trouble.push(...(await lab.stop()));
  if (signal.aborted) trouble.push('interrupted');
  const worked = outcomes.filter((outcome) => outcome.worked).length;
  const kinds = kindsIn(options.mode ?? 'ENIMultiIP');
  const missing = kinds.filter((kind) => !outcomes.some((outcome) => outcome.kind === kind));
  trouble.push(...missing.map((kind) => `no path was tried: ${kind}`));
  for (const line of trouble) say(`trouble: ${line}`);
  const ok = trouble.length === 0 && worked === outcomes.length && refused.routingFault === 0;
  return { ok, pods: running, tried: outcomes.length, worked, refused, trouble };
}

/** The promised last line: pods, paths tried, paths that worked, refused packets by kind. */
export function summaryLine({ ok, pods, tried, worked, refused }: OnceResult): string {
  const kinds = [
    `${refused.routingFault} routing fault`,
    `${refused.justReleased} just released`,
    `${refused.unknownSource} unknown source`,
    `${refused.noDestination} no destination`,
  ];
  const verdict = ok ? 'ok' : 'FAILED';
  return `${verdict}: ${pods} pods, ${tried} paths tried, ${worked} paths worked, refused packets: ${kinds.join(', ')}`;
}

async function startPods(lab: Lab, count: number, say: (line: string) => void, signal: AbortSignal): Promise<string[]> {
  if (signal.aborted) return [];
  const beginMs = performance.now();
  const names = Array.from({ length: count }, (_, index) => `pod-${index + 1}`);
  const results = await Promise.allSettled(names.map((name) => lab.addPod(name)));
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  say(`${count - failed.length} of ${count} pods run after ${Math.round(performance.now() - beginMs)} ms`);
  return failed;
}

async function tryAll(lab: Lab, kinds: readonly PathKind[], say: (line: string) => void): Promise<PathOutcome[]> {
  const outcomes = await tryPaths(lab, pathsOf(lab));
  const groups = kinds.flatMap((kind) => [4, 6].map((family) => ({ kind, family })));
  for (const { kind, family } of groups) {
    const those = outcomes.filter((outcome) => outcome.kind === kind && (outcome.family ?? 4) === family);
    if (family === 6 && those.length === 0) continue;
    const worked = those.filter((outcome) => outcome.worked);
    const rtts = worked.map(({ rttMs }) => rttMs ?? 0).sort((a, b) => a - b);
    const median = rtts[Math.floor(rtts.length / 2)];
    const pace = median === undefined ? '' : `, median ${median.toFixed(1)} ms`;
    say(
      `${worked.length === those.length ? '✔' : '✘'} ${kind}${family === 6 ? ' over IPv6' : ''}: ${worked.length} of ${those.length}${pace}`,
    );
    const bad = those.filter((outcome) => !outcome.worked);
    for (const { from, to, why } of bad.slice(0, FAILURES_SHOWN)) say(`    ${from} -> ${to}: ${why}`);
    if (bad.length > FAILURES_SHOWN) say(`    … and ${bad.length - FAILURES_SHOWN} more`);
  }
  return outcomes;
}
