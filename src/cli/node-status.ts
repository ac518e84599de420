/** `enactor status`: what one daemon says of itself, as a table for people or JSON for programs. */

import { readReport } from '../lab/node/debug-client.ts';
import type { Paint } from '../lab/view/paint.ts';
import { paintFor } from '../lab/view/paint.ts';
import type { NodeReport } from '../ports/introspection.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { table } from './table.ts';

export async function nodeStatus(socketPath: string, output: 'text' | 'json'): Promise<number> {
  const report = await readReport(socketPath).catch((error: unknown) => {
    if (error instanceof RangeError) throw new CommandError(EXIT.usage, error.message);
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(EXIT.cannot, `no daemon answers at ${socketPath}: ${why}`);
  });
  if (output === 'json') process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else process.stdout.write(`${reportLines(report, Date.now(), paintFor(process.stdout)).join('\n')}\n`);
  return EXIT.ok;
}

export function reportLines(report: NodeReport, nowMs: number, paint: Paint): string[] {
  const { pool } = report;
  const hue = report.state === 'serving' ? 'green' : 'yellow';
  const counts = Object.entries(pool?.counts ?? {}).filter(([, count]) => count > 0);
  return [
    `node  ${paint(hue, report.state)}${report.missing.length > 0 ? `, missing ${report.missing.join(', ')}` : ''}`,
    ...(pool === null
      ? []
      : [
          `pool  ${pool.state}; keeps ${pool.minIdle} to ${pool.maxIdle} idle, room for ${pool.capacity}; ` +
            (counts.map(([state, count]) => `${count} ${state}`).join(', ') || 'no address yet'),
        ]),
    '',
    ...table(
      ['ENI', 'DEVICE', 'STATE', 'SINCE', 'ADDRESS', 'IS', 'POD'],
      report.enis.flatMap((eni) => {
        const own = [eni.eniId ?? eni.actor, eni.device ?? '-', eni.state, ago(nowMs - eni.sinceMs)];
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
    ...report.enis.flatMap((eni) =>
      eni.lastFailure === null ? [] : [paint('yellow', `${eni.eniId ?? eni.actor}: ${eni.lastFailure}`)],
    ),
    ...(report.waiting.length === 0
      ? []
      : [
          '',
          ...table(
            ['WAITING POD', 'FOR', 'WHY'],
            report.waiting.map(({ pod, sinceMs, reason }) => [pod, ago(nowMs - sinceMs), reason]),
            paint,
          ),
        ]),
  ];
}

function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)}m` : `${Math.round(seconds / 3_600)}h`;
}
