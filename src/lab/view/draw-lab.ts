/** The lab as lines for a terminal: nodes with their ENIs, addresses as cells, pods, who reaches whom, and what to try next. */
import type { LabStatus } from '../status/lab-status.ts';
import type { DrawOptions } from './draw-options.ts';
import { widthOf } from './fit.ts';
import { nextLines } from './next-lines.ts';
import { legend, nodeBlock } from './node-lines.ts';
import { podLines } from './pod-lines.ts';
import { matrix, reachLines, refusedLines } from './reach-lines.ts';

const RECENT_MAX = 4;

/** A part that may be left out, and how dear it is: the dearest goes last. */
const optional = ['matrix', 'lately', 'try next'] as const;
type Part = (typeof optional)[number];

/** In the order in which they are tried; each first with blank lines between the blocks, then without. */
const layouts: readonly (readonly Part[])[] = [
  ['matrix', 'lately', 'try next'],
  ['matrix', 'try next'],
  ['lately', 'try next'],
  ['try next'],
  ['lately'],
  [],
];

/** As much as fits `rows`, the last of which is the cursor's; what does not fit is named in one line. */
export function drawLab(status: LabStatus, options: DrawOptions): string[] {
  const { paint, rows } = options;
  const grid = matrix(status, options);
  const contents: Readonly<Record<Part, readonly string[]>> = {
    matrix: grid,
    lately: recentLines(options),
    'try next': nextLines(status, options),
  };
  const there = optional.filter((part) => contents[part].length > 0);
  const blocksOf = (parts: readonly Part[]) => {
    const shown = (part: Part) => (parts.includes(part) ? contents[part] : []);
    return [
      header(status, options),
      ...status.nodes.map((node) => nodeBlock(node, status.atMs, options)),
      [legend(status, paint)],
      podLines(status, options),
      reachLines(status, options, shown('matrix')),
      refusedLines(status, paint),
      status.problems.map((problem) => paint('red', `  ! ${problem}`)),
      shown('lately'),
      shown('try next'),
    ].filter((block) => block.length > 0);
  };
  const leftOut = (parts: readonly Part[]) => {
    const missing = there.filter((part) => !parts.includes(part));
    if (missing.length === 0) return [];
    const needed = blocksOf([...parts, ...missing]).flat().length + 1;
    const text = `${missing.join(' and ')} left out: the terminal has ${rows} rows, it needs ${needed}`;
    return [paint('gray', `  ${text}`)];
  };
  const spaced = (blocks: readonly (readonly string[])[]) => blocks.flatMap((block) => [...block, '']).slice(0, -1);
  const tries = layouts.flatMap((parts) => {
    const blocks = blocksOf(parts);
    return [
      [...spaced(blocks), ...leftOut(parts)],
      [...blocks.flat(), ...leftOut(parts)],
    ];
  });
  const lines = tries.find((one) => one.length < rows) ?? tooSmall(tries.at(-1) ?? [], options);
  return lines.map((line) => line.trimEnd());
}

/** What is at the end of the least page is what has no room. */
function tooSmall(least: readonly string[], { rows, paint }: DrawOptions): string[] {
  const shown = Math.max(1, rows - 2);
  return [...least.slice(0, shown), paint('gray', `  … the terminal has ${rows} rows, this needs ${least.length + 1}`)];
}

/** How it is ended is said in the narrowest terminal too. */
function header(status: LabStatus, { paint, upMs, rootless, columns }: DrawOptions): string[] {
  const seconds = Math.floor((upMs ?? 0) / 1_000);
  const up = upMs === null ? [] : [`up ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`];
  const facts = ['a VPC in a box', ...up, ...(rootless === null ? [] : [rootless ? 'without root' : 'as root'])];
  const name = paint('bold', 'enactor lab');
  const lefts = [`${name}  ${facts.join(', ')}`, `${name}  ${up.join('')}`, name, ''];
  const pid = `pid ${status.hostPid}`;
  // Whoever only looks ends nothing with Ctrl-C.
  const rights = (upMs === null ? [pid] : [`Ctrl-C ends it, nothing stays · ${pid}`, 'Ctrl-C ends it']).map((text) =>
    paint('gray', text),
  );
  const pairs = rights.flatMap((right) => lefts.map((left) => ({ left, right })));
  const room = columns - 1;
  const gapOf = (pair: { left: string; right: string }) => room - widthOf(pair.left) - widthOf(pair.right);
  const best = pairs.find((pair) => gapOf(pair) >= 2) ?? pairs.at(-1);
  return best === undefined ? [] : [`${best.left}${' '.repeat(Math.max(0, gapOf(best)))}${best.right}`];
}

function recentLines({ recent, paint }: DrawOptions): string[] {
  const shown = recent.slice(-RECENT_MAX);
  return shown.length === 0 ? [] : [paint('bold', 'lately'), ...shown.map((line) => `  ${line}`)];
}
