/** The table of paths over ipvlan (F2): the whole lab in a virtual machine, whose kernel has ipvlan. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { tableIn } from '../../src/lab/checks/path-table.ts';
import { cannotRunLab, labPathsInVm, tableOf } from './lab-paths.ts';

t.setTimeout(1_900_000);

t.test(
  'F2, virtual machine: every path of pods with ipvlan is as it should be',
  { skip: cannotRunLab() },
  async (t) => {
    const printed = await labPathsInVm({ args: '--pods ipvlan', timeoutMs: 1_800_000 });
    t.comment(printed);
    t.match(printed, /^ended with 0$/m);
    t.match(printed, /^(\d+) of \1 paths are as they should be$/m);
    t.notMatch(printed, /the router refused/, 'no packet left by a wrong ENI');
    t.equal(
      tableOf(printed),
      tableIn(readFileSync('src/lab/checks/paths.md', 'utf8'), 'ipvlan'),
      'paths.md has this table',
    );
  },
);
