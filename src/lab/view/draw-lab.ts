/** The lab as lines for a terminal: nodes with their ENIs, addresses as cells, pods, who reaches whom, and what to try next. */
import type { AddressState, EniReport } from '../../ports/introspection.ts';
import { REFUSED_KINDS, type RefusedKind } from '../router/refused.ts';
import type { LabStatus, NodeStatus } from '../status/lab-status.ts';
import { cut, pad, widthOf } from './fit.ts';
import type { Hue, Paint } from './paint.ts';

export type DrawOptions = {
  readonly columns: number;
  readonly rows: number;
  readonly paint: Paint;
  /** null: not known to who draws. */
  readonly upMs: number | null;
  /** How this machine let us in: as root, or through a user namespace; null: not known. */
  readonly rootless: boolean | null;
  /** What happened last, the latest at the end. */
  readonly recent: readonly string[];
  /** The command that a reader can paste, such as `node dist/enactor.js`. */
  readonly command: string;
};

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

const refusedWords: Readonly<Record<RefusedKind, string>> = {
  routingFault: 'routing fault',
  justReleased: 'just released',
  unknownSource: 'unknown source',
  noDestination: 'no destination',
};

/** Wide cells name the address and its pod; beyond so many on an ENI only the marks are shown. */
const WIDE_CELLS_MAX = 6;
const WIDE_CELL_COLUMNS = 18;
const MATRIX_MAX = 14;
const RECENT_MAX = 4;
/** Commands longer than this do not push the words behind the others to the right. */
const TIP_COLUMNS = 70;

/** As much as fits `rows`: first the matrix goes, then what happened lately, then the blank lines. */
export function drawLab(status: LabStatus, options: DrawOptions): string[] {
  const { paint, rows } = options;
  const always = [
    header(status, options),
    ...status.nodes.map((node) => nodeBlock(node, status.atMs, options)),
    [legend(status, paint)],
    podLines(status, options),
  ];
  const ends = [refusedLines(status, paint), status.problems.map((problem) => paint('red', `  ! ${problem}`))];
  const lately = recentLines(options);
  const next = nextLines(status, options);
  const tries = [
    [...always, reachLines(status, options, matrix(status, options)), ...ends, lately, next],
    [...always, reachLines(status, options, []), ...ends, lately, next],
    [...always, reachLines(status, options, []), ...ends, next],
  ].map((blocks) => blocks.filter((block) => block.length > 0));
  const spaced = tries.map((blocks) => blocks.flatMap((block) => [...block, '']).slice(0, -1));
  const lines = spaced.find((one) => one.length < rows) ?? tries.at(-1)?.flat() ?? [];
  return lines.map((line) => line.trimEnd());
}

function header(status: LabStatus, { paint, upMs, rootless, columns }: DrawOptions): string[] {
  const seconds = Math.floor((upMs ?? 0) / 1_000);
  const facts = [
    'a VPC in a box',
    ...(upMs === null ? [] : [`up ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`]),
    ...(rootless === null ? [] : [rootless ? 'without root' : 'as root']),
  ];
  const left = `${paint('bold', 'enactor lab')}  ${facts.join(', ')}`;
  const right = paint('gray', `Ctrl-C ends it, nothing stays · pid ${status.hostPid}`);
  const gap = columns - 1 - widthOf(left) - widthOf(right);
  return [gap < 2 ? left : `${left}${' '.repeat(gap)}${right}`];
}

function nodeBlock(node: NodeStatus, atMs: number, { paint, columns }: DrawOptions): string[] {
  const { report } = node;
  const state = report?.state.split('.').at(-1) ?? (node.pid === null ? 'down' : 'starting');
  const hue: Hue = state === 'serving' ? 'green' : node.pid === null ? 'red' : 'yellow';
  const pool = report?.pool ?? null;
  const facts = [
    `${node.ip}`,
    ...(pool === null
      ? []
      : [
          `${pool.counts.bound} bound`,
          `${pool.counts.idle} idle (keeps ${pool.minIdle} to ${pool.maxIdle})`,
          ...(pool.counts.cooling > 0 ? [`${pool.counts.cooling} cooling`] : []),
          `room for ${pool.capacity}`,
        ]),
    ...(report !== null && report.missing.length > 0 ? [`missing: ${report.missing.join(', ')}`] : []),
    ...(report !== null && report.waiting.length > 0
      ? [paint('yellow', `${report.waiting.length} waiting: ${report.waiting[0]?.reason ?? ''}`)]
      : []),
  ];
  const title = `${paint('bold', node.name)}  ${paint(hue, state)}  ${facts.join(' · ')}`;
  const enis = report?.enis ?? [];
  const none = enis.length === 0 ? [paint('gray', '  no ENI yet')] : [];
  return [title, ...none, ...enis.flatMap((eni) => eniLines(eni, atMs, columns, paint))];
}

function eniLines(eni: EniReport, atMs: number, columns: number, paint: Paint): string[] {
  const name = pad(eni.device ?? '—', 5);
  const id = pad(eni.eniId === null ? eni.actor : eni.eniId.replace(/^(eni-)(.{3}).*(.{4})$/, '$1$2…$3'), 14);
  const hue: Hue = eni.state.startsWith('inUse') ? 'green' : eni.state.startsWith('stuck') ? 'red' : 'yellow';
  const start = `  ${name}${paint('gray', id)}${paint(hue, pad(eni.state, 16))}`;
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

function legend(status: LabStatus, paint: Paint): string {
  const seen = new Set(
    status.nodes.flatMap(({ report }) => report?.enis ?? []).flatMap((eni) => eni.addresses.map((one) => one.state)),
  );
  const states: readonly AddressState[] = ['bound', 'offered', 'idle', 'cooling', 'reserved', 'leaving', 'invalid'];
  return `  ${states
    .filter((state) => seen.has(state) || state === 'bound' || state === 'idle' || state === 'cooling')
    .map((state) => `${paint(cells[state].hue, cells[state].mark)} ${paint('gray', cells[state].word)}`)
    .join('   ')}`;
}

function podLines({ pods, hosts }: LabStatus, { paint }: DrawOptions): string[] {
  const troubled = pods.filter((pod) => pod.phase !== 'running');
  const running = pods.filter((pod) => pod.phase === 'running');
  const times = running.map((pod) => pod.startedInMs ?? 0).sort((a, b) => a - b);
  const median = times[Math.floor(times.length / 2)];
  const pace = median === undefined ? '' : paint('gray', `  half of them started within ${Math.round(median)} ms`);
  const elsewhere = hosts.map(({ name, ip }) => paint('gray', `  · ${name} ${ip}, a machine without a daemon`));
  return [
    `${paint('bold', 'pods')}  ${running.length} running${pace}${elsewhere.join('')}`,
    ...troubled.slice(0, 4).map((pod) => {
      const text = `  ${pod.name} on ${pod.node}: ${pod.phase}${pod.failure === null ? '' : `, ${pod.failure}`}`;
      return paint(pod.failure === null ? 'yellow' : 'red', text);
    }),
  ];
}

function reachLines(status: LabStatus, { paint }: DrawOptions, grid: readonly string[]): string[] {
  const { outcomes, atMs } = status.reachability;
  if (atMs === null) return [`${paint('bold', 'reachability')}  ${paint('gray', 'first round under way')}`];
  const bad = outcomes.filter((outcome) => !outcome.worked);
  const verdict =
    bad.length === 0
      ? paint('green', `${outcomes.length} of ${outcomes.length} paths work, each seen with the right source`)
      : paint('red', `${outcomes.length - bad.length} of ${outcomes.length} paths work`);
  return [
    `${paint('bold', 'reachability')}  ${verdict}`,
    ...grid,
    ...bad.slice(0, 3).map(({ from, to, why }) => paint('red', `  ${from} -> ${to}: ${why}`)),
  ];
}

/** From the left to the top; left out when there are too many places for the terminal. */
function matrix(status: LabStatus, { paint, columns }: DrawOptions): string[] {
  const pods = status.pods.filter((pod) => pod.phase === 'running').map(({ name }) => name);
  const names = [...pods, ...status.nodes.map(({ name }) => name), ...status.hosts.map(({ name }) => name)];
  const wide = Math.max(...names.map((name) => name.length)) + 2;
  if (names.length > MATRIX_MAX || names.length < 2 || wide + names.length * 3 > columns) return [];
  const byPair = new Map(status.reachability.outcomes.map((one) => [`${one.from} ${one.to}`, one.worked]));
  const mark = (from: string, to: string) => {
    const worked = byPair.get(`${from} ${to}`);
    if (worked === undefined) return paint('gray', '·');
    return worked ? paint('green', '●') : paint('red', '✗');
  };
  const numbers = names.map((_, index) => pad(String(index + 1), 3)).join('');
  return [
    `  ${pad(paint('gray', 'row to column'), wide + 3)}${paint('gray', numbers)}`,
    ...names.map((from, row) => {
      const line = names.map((to) => pad(mark(from, to), 3)).join('');
      return `  ${paint('gray', pad(String(row + 1), 3))}${pad(from, wide)}${line}`;
    }),
  ];
}

function refusedLines({ refused }: LabStatus, paint: Paint): string[] {
  const kinds = REFUSED_KINDS.map((kind) => {
    const text = `${refused[kind]} ${refusedWords[kind]}`;
    if (refused[kind] === 0) return paint('gray', text);
    return paint(kind === 'routingFault' ? 'red' : 'yellow', text);
  });
  return [`${paint('bold', 'packets refused by the router')}  ${kinds.join(' · ')}`];
}

function recentLines({ recent, paint }: DrawOptions): string[] {
  const shown = recent.slice(-RECENT_MAX);
  return shown.length === 0 ? [] : [paint('bold', 'lately'), ...shown.map((line) => `  ${line}`)];
}

function nextLines(status: LabStatus, { paint, command, columns }: DrawOptions): string[] {
  const [node] = status.nodes;
  const pod = status.pods.find((one) => one.phase === 'running');
  const far = status.pods.find((one) => one.phase === 'running' && one.node !== pod?.node) ?? status.hosts[0];
  const tips = [
    {
      line: `${command} lab pod add hello${node === undefined ? '' : ` --node ${node.name}`}`,
      why: 'one more pod',
    },
    ...(pod === undefined
      ? []
      : [
          { line: `${command} lab pod rm ${pod.name}`, why: 'its address cools, then is idle' },
          { line: `${command} lab probe ${pod.name} ${far?.name ?? pod.name}`, why: 'who saw whom' },
          { line: `${command} lab exec ${pod.name} -- cat /proc/net/route`, why: 'inside a pod' },
        ]),
    ...(node === undefined
      ? []
      : [
          { line: `${command} lab status ${node.name}`, why: 'what its daemon says' },
          { line: `${command} status --debug-socket ${node.debugSocket}`, why: 'the same' },
        ]),
  ]
    // A command that would be cut could not be pasted.
    .filter(({ line }) => line.length + 2 < columns);
  const short = tips.map(({ line }) => line.length).filter((length) => length < TIP_COLUMNS);
  const wide = Math.max(...short) + 2;
  return [
    `${paint('bold', 'try next')} ${paint('gray', '(in another terminal)')}`,
    ...tips.map(
      ({ line, why }) => `  ${paint('cyan', pad(line, wide))}${line.length < wide ? '' : '  '}${paint('gray', why)}`,
    ),
  ];
}
