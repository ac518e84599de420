/** `enactor status`: what one daemon says of itself, as a table for people or JSON for programs. */

import { isHeldBack } from '../core/held-back.ts';
import { isContested } from '../core/repair-ledger.ts';
import { readReport } from '../lab/node/debug-client.ts';
import type { Paint } from '../lab/view/paint.ts';
import { eniSince, forHowLong, nodeWord, times } from '../lab/view/words.ts';
import type { GcReport, NodeReport, PoolReport } from '../ports/introspection.ts';
import type { OutputForm } from './command.ts';
import { cloudChecks } from './doctor/cloud.ts';
import { EXIT } from './exit-codes.ts';
import { fromDaemon } from './node-client.ts';
import { print } from './print.ts';
import { table } from './table.ts';

const REPAIRS_SHOWN = 20;

/** Of a container id as people read them. */
const SANDBOX_CHARS = 12;

export async function nodeStatus(socketPath: string, output: OutputForm): Promise<number> {
  const report = await fromDaemon(socketPath, readReport);
  print(report, output, (paint) => reportLines(report, Date.now(), paint));
  return EXIT.ok;
}

export function reportLines(report: NodeReport, nowMs: number, paint: Paint): string[] {
  const { pool } = report;
  const state = nodeWord(report.state);
  const hue = state === 'serving' ? 'green' : 'yellow';
  const refusals = report.refusals ?? [];
  return [
    `node  ${paint(hue, state)}${report.missing.length > 0 ? `, missing ${report.missing.join(', ')}` : ''}`,
    ...(pool === null ? [] : [poolLine(pool, paint)]),
    ...readinessLines(report, nowMs, paint),
    ...readOnlyLines(report, nowMs, paint),
    ...storeLines(report, nowMs, paint),
    ...holdLines(report, nowMs, paint),
    ...cloudLines(report, nowMs, paint),
    ...(report.gc ? [gcLine(report.gc, nowMs)] : []),
    '',
    ...table(
      ['ENI', 'DEVICE', 'STATE', 'SINCE', 'ADDRESS', 'IS', 'POD'],
      report.enis.flatMap((eni) => {
        const { is, since } = eniSince(eni, nowMs);
        const own = [eni.eniId ?? eni.actor, eni.device ?? '-', is, since];
        if (eni.addresses.length === 0) return [[...own, '-', '-', '-']];
        return eni.addresses.map((address, index) => [
          ...(index === 0 ? own : ['', '', '', '']),
          [address.ipv4, address.ipv6].filter((ip) => ip !== null).join(' '),
          address.state,
          address.pod ?? '-',
        ]);
      }),
      paint,
    ),
    ...report.enis.flatMap(({ eniId, actor, halves = [] }) =>
      halves.length === 0 ? [] : [`${eniId ?? actor}: half of an address, serves nobody: ${halves.join(' ')}`],
    ),
    ...report.enis.flatMap((eni) =>
      eni.lastFailure === null ? [] : [paint('yellow', `${eni.eniId ?? eni.actor}: ${eni.lastFailure}`)],
    ),
    ...(report.waiting.length === 0
      ? []
      : [
          '',
          ...table(
            ['WAITING POD', 'FOR', 'WHY'],
            report.waiting.map(({ pod, sinceMs, reason }) => [pod, forHowLong(nowMs - sinceMs), reason]),
            paint,
          ),
        ]),
    ...(report.gc?.kept.length
      ? [
          '',
          ...table(
            ['LEASE WITHOUT A POD', 'SANDBOX', 'WHY IT IS STILL THERE'],
            report.gc.kept.map(({ pod, sandbox, why }) => [pod, sandbox.slice(0, SANDBOX_CHARS), why]),
            paint,
          ),
        ]
      : []),
    ...hostLines(report, nowMs, paint),
    ...(refusals.length === 0 ? [] : ['']),
    ...refusals.map((one) => {
      const when = `${times(one.times)}, last ${forHowLong(nowMs - one.atMs)} ago`;
      return `${paint('yellow', 'refused')}  ${one.pod}: ${one.detail} (${when})`;
    }),
  ];
}

/** What STATUS would be told, what is full, and since when the pods of this node are not watched; nothing while all is well. */
function readinessLines({ readiness, room, podWatch }: NodeReport, nowMs: number, paint: Paint): string[] {
  const { Code: code = 0, Message: message = '' } = readiness ?? {};
  const { awaySinceMs = null, why = null, gaps = 0 } = podWatch ?? {};
  return [
    ...(code === 0 ? [] : [`ADD   ${paint('red', 'cannot be served')} (STATUS ${code}): ${message}`]),
    ...(room?.full ? [`room  ${paint('yellow', 'full')}: ${room.why}`] : []),
    ...(awaySinceMs === null
      ? []
      : [`pods  ${paint('yellow', `not watched for ${forHowLong(nowMs - awaySinceMs)}`)}: ${why} (gap ${gaps})`]),
  ];
}

/** What is not asked again for a while. */
function holdLines({ holds = [] }: NodeReport, nowMs: number, paint: Paint): string[] {
  const words = {
    vSwitch: 'ran dry',
    eni: 'has all that it may have',
    opening: 'opening an ENI failed',
    quota: 'no more ENIs for this instance',
  };
  return holds.map(({ of, name, untilMs }) => {
    return `hold  ${paint('yellow', [name, words[of]].filter(Boolean).join(' '))}; asked again in ${forHowLong(untilMs - nowMs)}`;
  });
}

/** Where the credentials come from, and what is wrong on the way to the cloud; enactor doctor tells what to do. */
function cloudLines(report: NodeReport, nowMs: number, paint: Paint): string[] {
  const { cloud } = report;
  if (cloud === undefined) return [];
  const { source, from, untilMs, failure } = cloud.credentials;
  const wrong = cloudChecks
    .flatMap((check) => check.of(report, nowMs))
    .filter(({ is }) => is !== 'ok')
    .map(({ says }) => `cloud ${paint('yellow', says)}`);
  if (source === null || failure !== null) return wrong;
  const end = untilMs === null ? '' : `, for ${forHowLong(untilMs - nowMs)} yet`;
  return [`cloud credentials from ${from} (${source})${end}`, ...wrong];
}

function readOnlyLines({ readOnly }: NodeReport, nowMs: number, paint: Paint): string[] {
  if (readOnly === undefined) return [];
  const { would, refused = [] } = readOnly;
  return [
    `mode  ${paint('yellow', 'read-only')}: ${would.length === 0 ? 'nothing would be done in the cloud now' : would.join('; ')}`,
    ...refused.map(
      ({ what, times: often, lastMs }) =>
        `      ${what}: refused ${times(often)}, last ${forHowLong(nowMs - lastMs)} ago`,
    ),
  ];
}

/** Only what is wrong with it: a sound store has no line. */
function storeLines({ store, leases }: NodeReport, nowMs: number, paint: Paint): string[] {
  const { failing = null, setAside = null } = store ?? {};
  const held = leases.filter(({ sandbox }) => isHeldBack(sandbox)).length;
  return [
    ...(failing === null
      ? []
      : [`store ${paint('red', `cannot be written for ${forHowLong(nowMs - failing.sinceMs)}`)}: ${failing.why}`]),
    ...(setAside === null
      ? []
      : [`store ${paint('yellow', 'was set aside')}: ${setAside.why}; kept as ${setAside.path}`]),
    ...(held === 0
      ? []
      : [`store ${paint('yellow', `${held} addresses held back`)} until host and API server say that no pod has them`]),
  ];
}

/** One line for each kind of repair, and one for each thing that is in dispute or cannot be mended. */
function hostLines({ host }: NodeReport, nowMs: number, paint: Paint): string[] {
  if (host === undefined || host.things.length === 0) return [];
  const word = { repaired: 'repaired', heldOff: 'waits', failed: 'cannot be repaired', beyondRepair: 'is gone' };
  const rows = host.things.slice(0, REPAIRS_SHOWN).map((thing) => {
    const is = isContested(thing) ? 'somebody undoes it' : word[thing.outcome];
    const last = `${forHowLong(nowMs - thing.lastMs)} ago`;
    return [thing.kind, thing.object, is, `${thing.times}`, last, thing.detail ?? thing.pod ?? '-'];
  });
  const total = `host  ${paint('yellow', `${times(host.repairs)} repaired`)} since the daemon started`;
  return ['', total, ...table(['DRIFT', 'OF', 'IS', 'REPAIRS', 'LAST', 'WHO OR WHY'], rows, paint)];
}

function gcLine({ state, lastPassMs, looked, collected, failed, lastFailure }: GcReport, nowMs: number): string {
  const pass =
    lastPassMs === null ? 'no pass yet' : `last pass ${forHowLong(nowMs - lastPassMs)} ago looked at ${looked} leases`;
  const releases = failed === 0 ? `${collected} released` : `${collected} released, ${failed} could not be`;
  return `gc    ${nodeWord(state)}; ${pass}; ${releases}${lastFailure === null ? '' : `; ${lastFailure}`}`;
}

/** The idle pool in a line. */
export function poolLine({ state, minIdle, maxIdle, capacity, counts, why }: PoolReport, paint: Paint): string {
  const held = counts.bound + counts.offered + counts.reserved;
  const room = held < capacity ? `room for ${capacity}` : paint('yellow', `full: ${held} of ${capacity}`);
  const listed = Object.entries(counts).filter(([, count]) => count > 0);
  const all = listed.map(([what, count]) => `${count} ${what}`).join(', ') || 'no address yet';
  const paused = why.startsWith('paused') ? `${paint('yellow', why)}; ` : '';
  return `pool  ${paused}${nodeWord(state)}; keeps ${minIdle} to ${maxIdle} idle, ${room}; ${all}`;
}
