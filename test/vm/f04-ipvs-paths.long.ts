/**
 * F4: the table of paths where kube-proxy is in IPVS mode, for each way to connect pods: the whole lab in virtual machines, whose kernel has IPVS. What is lost
 * without our marks shows f04-ipvs.long.ts. The table as it was seen is printed at the end, for checks/paths.md.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { tableIn } from '../../src/lab/checks/path-table.ts';
import { POD_MODES, type PodMode } from '../../src/lab/checks/pod-modes.ts';
import { SERVICE_PATHS } from '../../src/lab/checks/service-paths.ts';
import { cannotRunLab, labPathsInVm, tableOf } from './lab-paths.ts';

t.setTimeout(7_500_000);
const IPVSADM = '/usr/sbin/ipvsadm';
const skip = cannotRunLab([IPVSADM]);

type Column = ReadonlyMap<string, string | undefined>;

/** A column of a table of Markdown: cells by the words of their path. */
function columnOf(table: string, mode: PodMode): Column {
  const [head = [], , ...rows] = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const at = head.indexOf(mode);
  return new Map(rows.flatMap((cells) => (at < 0 ? [] : [[cells[1] ?? '', cells[at]]])));
}

const told = () => tableIn(readFileSync('src/lab/checks/paths.md', 'utf8'), 'ipvs-modes');
const seen = new Map<PodMode, Column>();

for (const mode of POD_MODES)
  t.test(`F4, virtual machine: every path of pods with ${mode} under IPVS is as it should be`, { skip }, async (t) => {
    const printed = await labPathsInVm({
      args: `--pods ${mode} --proxy ipvs`,
      modules: 'ip_vs ip_vs_rr',
      programs: [IPVSADM],
      timeoutMs: 1_800_000,
    });
    t.comment(printed);
    t.match(printed, /^ended with 0$/m);
    t.match(printed, /^(\d+) of \1 paths are as they should be$/m);
    t.notMatch(printed, /the router refused/, 'no packet left by a wrong ENI');
    const column = columnOf(tableOf(printed), mode);
    seen.set(mode, column);
    t.ok(column.size > 30, `${column.size} paths`);
    // A path that the mode has not is in no table of its own, and a dash in the one of all.
    const dashed = SERVICE_PATHS.map(({ words }) => [words, column.get(words) ?? '–'] as const);
    t.strictSame(new Map(dashed), columnOf(told(), mode), 'paths.md has this column');
  });

t.teardown(() => {
  const modes = POD_MODES.filter((mode) => seen.has(mode));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const head = ['path', ...modes];
  const rows = SERVICE_PATHS.map(({ words }) =>
    line([words, ...modes.map((mode) => seen.get(mode)?.get(words) ?? '–')]),
  );
  if (modes.length > 0) t.comment([line(head), line(head.map(() => '---')), ...rows].join('\n'));
});
