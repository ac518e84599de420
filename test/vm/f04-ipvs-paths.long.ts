/**
 * F4: the table of paths where kube-proxy is in IPVS mode, for each way to connect pods: the whole lab in virtual machines, whose kernel has IPVS. What is lost
 * without our marks shows f04-ipvs.long.ts.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { tableIn } from '../../src/lab/checks/path-table.ts';
import { POD_MODES, type PodMode } from '../../src/lab/checks/pod-modes.ts';
import { cannotRunLab, labPathsInVm, tableOf } from './lab-paths.ts';

t.setTimeout(7_500_000);
const IPVSADM = '/usr/sbin/ipvsadm';
const skip = cannotRunLab([IPVSADM]);

/** The rows of a table of Markdown: cells by the words of their path. */
function cellsOf(table: string, column: PodMode): ReadonlyMap<string, string | undefined> {
  const [head = [], , ...rows] = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const at = head.indexOf(column);
  return new Map(rows.map((cells) => [cells[1] ?? '', cells[at]]));
}

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
    const told = tableIn(readFileSync('src/lab/checks/paths.md', 'utf8'), 'ipvs-modes');
    t.strictSame(cellsOf(tableOf(printed), mode), cellsOf(told, mode), 'paths.md has this column');
  });
