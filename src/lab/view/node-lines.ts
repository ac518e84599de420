/** Nodes with their ENIs, and the addresses on them. */
import type { AddressState, EniReport, PoolReport } from '../../ports/introspection.ts';
import type { LabStatus, NodeStatus } from '../status/lab-status.ts';
import type { DrawOptions } from './draw-options.ts';
import { cut, pad, widthOf } from './fit.ts';
import type { Hue, Paint } from './paint.ts';
import { eniWord, nodeWord } from './words.ts';

type Cell = { readonly mark: string; readonly hue: Hue; readonly word: string };

const cells: Readonly<Record<AddressState, Cell>> = {
  bound: { mark: '■', hue: 'green', word: 'bound' },
  offered: { mark: '◧', hue: 'cyan', word: 'offered' },
  idle: { mark: '□', hue: 'white', word: 'idle' },
  cooling: { mark: '▨', hue: 'blue', word: 'cooling' },
  reserved: { mark: '▣', hue: 'magenta', word: 'reserved' },
  leaving: { mark: '▱', hue: 'gray', word: 'leaving' },
  invalid: { mark: '✗', hue: 'red', word: 'invalid' },
};

/** Wide cells name the address and its pod; beyond so many on an ENI only the marks are shown. */
const WIDE_CELLS_MAX = 6;
const WIDE_CELL_COLUMNS = 18;
/** For `in use · unassigning`, so that nothing moves when a call begins. */
const ENI_STATE_COLUMNS = 22;

/** A node's title line and its ENIs below it, addresses as cells. */
export function nodeBlock(node: NodeStatus, atMs: number, { paint, columns }: DrawOptions): string[] {
  const { report } = node;
  const state = report === null ? (node.pid === null ? 'down' : 'starting') : nodeWord(report.state);
  const hue: Hue = state === 'serving' ? 'green' : node.pid === null ? 'red' : 'yellow';
  const pool = report?.pool ?? null;
  const facts = [
    `${node.ip}`,
    ...(pool === null
      ? []
      : [
          ...(heldBy(pool) < pool.capacity ? [] : [paint('yellow', `full: ${heldBy(pool)} of ${pool.capacity}`)]),
          `${pool.counts.bound} bound`,
          `${pool.counts.idle} idle (keeps ${pool.minIdle} to ${pool.maxIdle})`,
          ...(pool.counts.cooling > 0 ? [`${pool.counts.cooling} cooling`] : []),
          ...(heldBy(pool) < pool.capacity ? [`room for ${pool.capacity}`] : []),
        ]),
    ...(report !== null && report.missing.length > 0 ? [`missing: ${report.missing.join(', ')}`] : []),
    ...(report !== null && report.waiting.length > 0 ? [paint('yellow', `${report.waiting.length} waiting`)] : []),
  ];
  const title = `${paint('bold', node.name)}  ${paint(hue, state)}  ${facts.join(' · ')}`;
  const enis = report?.enis ?? [];
  const none = enis.length === 0 ? [paint('gray', '  no ENI yet')] : [];
  return [title, ...none, ...enis.flatMap((eni) => eniBlock(eni, atMs, columns, paint))];
}

/** Addresses that nobody else can have. */
function heldBy({ counts }: PoolReport): number {
  return counts.bound + counts.offered + counts.reserved;
}

/** One ENI, its addresses as cells. */
export function eniBlock(eni: EniReport, atMs: number, columns: number, paint: Paint): string[] {
  const name = pad(eni.device ?? '—', 5);
  const id = pad(eni.eniId === null ? eni.actor : eni.eniId.replace(/^(eni-)(.{3}).*(.{4})$/, '$1$2…$3'), 14);
  const hue: Hue = eni.state.startsWith('inUse') ? 'green' : eni.state.startsWith('stuck') ? 'red' : 'yellow';
  const start = `  ${name}${paint('gray', id)}${paint(hue, pad(eniWord(eni.state), ENI_STATE_COLUMNS))}`;
  const failure = eni.lastFailure === null ? [] : [paint('yellow', `       last failure: ${eni.lastFailure}`)];
  if (eni.addresses.length > WIDE_CELLS_MAX) {
    const marks = eni.addresses.map(({ state }) => paint(cells[state].hue, cells[state].mark)).join(' ');
    return [start + marks, ...failure];
  }
  const wide = eni.addresses.map((address) => {
    const { mark, hue: colour, word } = cells[address.state];
    const restMs = address.untilMs === null ? null : Math.max(0, address.untilMs - atMs);
    const rest = address.state === 'cooling' && restMs !== null ? ` ${Math.ceil(restMs / 1_000)}s` : '';
    const who = address.pod?.split('/')[1] ?? `${word}${rest}`;
    const last = `.${address.ipv4.split('.').at(-1)}`;
    return pad(paint(colour, cut(`${mark} ${pad(last, 5)}${who}`, WIDE_CELL_COLUMNS - 1)), WIDE_CELL_COLUMNS);
  });
  const indent = ' '.repeat(widthOf(start));
  const perLine = Math.max(1, Math.floor((columns - 1 - indent.length) / WIDE_CELL_COLUMNS));
  const lines: string[] = [];
  for (let at = 0; at < wide.length; at += perLine) {
    lines.push(`${at === 0 ? start : indent}${wide.slice(at, at + perLine).join('')}`);
  }
  return [...(lines.length === 0 ? [start] : lines), ...failure];
}

/** What the marks of addresses mean. */
export function legend(status: LabStatus, paint: Paint): string {
  const seen = new Set(
    status.nodes.flatMap(({ report }) => report?.enis ?? []).flatMap((eni) => eni.addresses.map((one) => one.state)),
  );
  const states: readonly AddressState[] = ['bound', 'offered', 'idle', 'cooling', 'reserved', 'leaving', 'invalid'];
  return `  ${states
    .filter((state) => seen.has(state) || state === 'bound' || state === 'idle' || state === 'cooling')
    .map((state) => `${paint(cells[state].hue, cells[state].mark)} ${paint('gray', cells[state].word)}`)
    .join('   ')}`;
}
