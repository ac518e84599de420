/** The answer to "why has this pod no address?", for people. */
import type { Paint } from '../lab/view/paint.ts';
import { forHowLong } from '../lab/view/words.ts';
import type { Stage, Why } from '../ports/introspection.ts';
import { table } from './table.ts';

const stageWords: Readonly<Record<Stage, string>> = {
  asked: 'asked for by the plugin',
  podKnown: 'pod known',
  placed: 'placed on an ENI',
  offered: 'address offered',
  persisted: 'lease on disk',
  answered: 'answered',
};

export function whyLines(why: Why, nowMs: number, paint: Paint): string[] {
  const { verdict, answer, leases, decisions, stages, requests, considered, underWay, nextTryMs, refusal } = why;
  const hue = verdict === 'bound' ? 'green' : verdict === 'unknown' ? 'gray' : 'yellow';
  const next = nextTryMs === null ? [] : [`next try in ${forHowLong(nextTryMs - nowMs)}`];
  return [
    `${paint(hue, verdict)}  ${answer}`,
    ...leases.slice(1).map((lease) => `       also ${lease.ipv4} on ${lease.eniId} for sandbox ${lease.sandbox}`),
    ...requests.map(
      ({ sinceMs, untilMs }) => `asked ${forHowLong(nowMs - sinceMs)} ago, gives up in ${forHowLong(untilMs - nowMs)}`,
    ),
    ...(verdict === 'waiting' && refusal !== null ? [`refused before: ${refusal.detail}`] : []),
    ...next,
    ...(decisions.length === 0 ? [] : ['', paint('bold', 'DECIDED')]),
    ...decisions.map(({ atMs, what }) => `  ${clock(atMs)}  ${what}`),
    ...(stages.length === 0 ? [] : ['', ...stageTable(stages, paint)]),
    ...(considered.length === 0 ? [] : ['', ...consideredTable(considered, nowMs, paint)]),
    ...(underWay.length === 0 ? [] : ['', paint('bold', 'UNDER WAY')]),
    ...underWay.map((what) => `  ${what}`),
  ];
}

function stageTable(stages: Why['stages'], paint: Paint): string[] {
  const first = stages[0]?.atMs ?? 0;
  const last = stages.at(-1)?.atMs ?? 0;
  const rows = stages.map(({ stage, atMs, tookMs }, index) => [
    stageWords[stage],
    clock(atMs),
    index === 0 ? '' : `+${tookMs} ms`,
  ]);
  return [...table(['STAGE', 'AT', 'TOOK'], rows, paint), `in all ${last - first} ms`];
}

function consideredTable(considered: Why['considered'], nowMs: number, paint: Paint): string[] {
  const rows = considered.map(({ what, verdict, why, untilMs }) => [
    what,
    verdict === 'serves' ? paint('green', 'would do') : paint('yellow', 'refuses'),
    untilMs === null ? '' : `for ${forHowLong(untilMs - nowMs)}`,
    why,
  ]);
  return table(['CONSIDERED', 'IS', '', 'WHY'], rows, paint);
}

/** UTC, as the sentences of the daemon have it. */
function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}
