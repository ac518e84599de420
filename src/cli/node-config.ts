/** `enactor config`: what holds on a node and who said it, what waits for a restart, and what was refused. */
import type { ConfigReport, ConfigValue, EffectiveValue, OverlayReport } from '../core/config-report.ts';
import { readConfigReport } from '../lab/node/debug-client.ts';
import type { Paint } from '../lab/view/paint.ts';
import { forHowLong } from '../lab/view/words.ts';
import type { OutputForm } from './command.ts';
import { EXIT } from './exit-codes.ts';
import { fromDaemon } from './node-client.ts';
import { print } from './print.ts';
import { table } from './table.ts';

const VALUE_CHARS = 60;

export async function nodeConfig(socketPath: string, output: OutputForm): Promise<number> {
  const report = await fromDaemon(socketPath, readConfigReport);
  print(report, output, (paint) => configLines(report, Date.now(), paint));
  return EXIT.ok;
}

export function configLines(report: ConfigReport, nowMs: number, paint: Paint): string[] {
  const { file, overlay, values, flags, refusals, notes } = report;
  return [
    `file     ${file}`,
    `overlay  ${overlayWords(overlay)}`,
    ...refusals.map(({ source, key, why, sinceMs }) => {
      const what = key === '' ? source : `${key} of ${source}`;
      return `${paint('yellow', 'refused')}  ${what}: ${why} (${forHowLong(nowMs - sinceMs)} ago; what was before holds)`;
    }),
    '',
    ...table(
      ['KEY', 'VALUE', 'SOURCE', 'NOTE'],
      values.map((value) => {
        const cells = [value.key, shown(value), value.source, noteOn(value)];
        return value.source === 'default' ? cells.map((cell) => paint('dim', cell)) : cells;
      }),
      paint,
    ),
    '',
    ...table(
      ['FLAG', 'VALUE', 'SOURCE'],
      flags.map(({ flag, value, source }) => [flag, value === '' ? '-' : value, source]),
      paint,
    ),
    ...(notes.length === 0 ? [] : ['', ...notes.map(({ key, why }) => `${key}: ${why}`)]),
  ];
}

/** `ConfigMap kube-system/gpu-nodes, applied`. */
function overlayWords({ configMap, state }: OverlayReport): string {
  if (configMap === null)
    return state === 'unknown' ? 'the API server has not told yet' : 'none: the node has no label';
  const words = {
    unknown: 'not read yet',
    none: 'not used',
    applied: 'applied',
    remembered: 'as remembered: the API server does not answer',
    refused: 'refused: what was before holds',
    missing: 'is not there, or has no eni_conf: the file alone holds',
  };
  return `ConfigMap ${configMap}, ${words[state]}`;
}

function shown({ value, words }: EffectiveValue): string {
  if (words !== null) return `(${words})`;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === '') return '""';
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS - 1)}…`;
}

function noteOn({ note, pending }: ConfigValue): string {
  const waits = pending === null ? null : `needs a restart: then ${shown(pending)} (${pending.source})`;
  return [note, waits].filter((one) => one !== null).join('; ');
}
