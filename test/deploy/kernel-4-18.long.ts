/**
 * The whole lab (daemon, plugin, packets) with the system calls of kernel 4.18: everything that came later answers ENOSYS (old-kernel-calls.ts). The kernel behind it is the
 * one of this machine, so it tells what the programs ask for, and not how an old kernel carries it out; for that see test/vm/oldest-kernel-paths.long.ts.
 */
import { existsSync } from 'node:fs';
import t from 'tap';
import { asOn418 } from './old-kernel-calls.ts';

t.setTimeout(300_000);
const skip =
  (process.arch !== 'x64' && `NOT RUN: the numbers of system calls are x86-64's, and this is ${process.arch}`) ||
  (!existsSync('dist/enactor.js') && 'NOT RUN: dist/enactor.js is not built (npm run build)');

for (const args of [[], ['--dual-stack'], ['--mode', 'ENIOnly'], ['--mode', 'VPC']])
  t.test(`kernel 4.18: a lab ${args.join(' ')}`, { skip }, async (t) => {
    const { exitCode, output } = await asOn418([process.execPath, 'dist/enactor.js', 'lab', 'up', '--once', ...args]);
    t.equal(exitCode, 0);
    t.match(output, /^ok: .* refused packets: 0 routing fault, 0 just released, 0 unknown source/m);
    if (!t.passing()) t.comment(output);
  });
