/** src/cli/README.md tells of every command there is, and of no other; and of the exit codes what is so. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import t from 'tap';
import { program } from '../../src/cli/program.ts';

const text = readFileSync('src/cli/README.md', 'utf8');

/** `lab pod add`: commands that do something themselves. */
function namesIn(command: Command, above: readonly string[] = []): string[] {
  return command.commands.flatMap((one) => {
    const path = [...above, one.name()];
    const own = one.commands.length === 0 || path.join(' ') === 'eni' ? [path.join(' ')] : [];
    return [...own, ...namesIn(one, path)];
  });
}

/** What the first column of the tables has between back-ticks. */
function toldIn(section: string): string[] {
  const cells = section.split('\n').flatMap((line) => (line.startsWith('| `') ? [line.split(' | ')[0] ?? ''] : []));
  return cells.flatMap((cell) => [...cell.matchAll(/`(?:enactor )?([^`]+)`/g)].map(([, span]) => span ?? ''));
}

t.test('README of the commands: has each that --help has', async (t) => {
  const section = text.slice(text.indexOf('## On a node'), text.indexOf('## Exit codes'));
  const told = toldIn(section);
  for (const name of namesIn(program(() => {})))
    t.ok(
      told.some((one) => one === name || one.startsWith(`${name} `)),
      `enactor ${name} is told of`,
    );
});

t.test('README of the commands: each exit code that the program has is in its table', async (t) => {
  const table = text.slice(text.indexOf('## Exit codes'));
  for (const code of [0, 1, 2, 3, 130, 141]) t.match(table, new RegExp(`\\b${code}\\b`), `${code}`);
  for (const name of ['why', 'doctor', 'plan', 'replay', 'host', 'lab probe', 'eni sweep', 'simulate'])
    t.match(table, new RegExp(`^\\| .*\`${name}[\` ]`, 'm'), name);
});
