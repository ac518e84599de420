/** What deploy/operation.md says of the hosts that the programs run on is what they ask for themselves: the loader refuses an older glibc. */
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'tap';
import { KERNEL_FLOOR } from '../../src/core/host-needs.ts';
import { asOn418 } from './old-kernel-calls.ts';

/** Minor versions of glibc that the loader has to have, as the ELF file names them. */
function glibcOf(path: string): readonly number[] {
  const bytes = readFileSync(path).toString('latin1');
  const named = [...bytes.matchAll(/\0GLIBC_2\.(\d+)(?=\0)/g)];
  return [...new Set(named.map(([, minor]) => Number(minor)))].sort((a, b) => a - b);
}

test('hosts: the plugin needs no newer glibc than the page says', (t) => {
  const said = /\| the plugin [^|]*\| glibc 2\.(\d+)/.exec(readFileSync('deploy/operation.md', 'utf8'));
  t.equal(glibcOf('dist/enactor-cni').at(-1), Number(said?.[1]));
  const arm64 = 'dist/enactor-cni-arm64';
  if (existsSync(arm64)) t.equal(glibcOf(arm64).at(-1), Number(said?.[1]), 'nor does the one for arm64');
  else t.comment(`NOT LOOKED AT: ${arm64} is not built (npm run build:arm64 fetches Bun for arm64)`);
  t.end();
});

test('hosts: plugin and daemon start with the system calls of kernel 4.18, the oldest that the page names', {
  skip:
    process.arch !== 'x64' && `NOT RUN: the numbers of system calls are those of x86-64, and this is ${process.arch}`,
}, async (t) => {
  t.match(readFileSync('deploy/operation.md', 'utf8'), `| ${KERNEL_FLOOR} (Node’s floor) |`);
  const asked = JSON.stringify({ cniVersion: '1.0.0' });
  const plugin = await asOn418(['dist/enactor-cni'], { PATH: process.env.PATH, CNI_COMMAND: 'VERSION' }, asked);
  t.match(plugin, { exitCode: 0, output: /"supportedVersions":/ });
  const refused = await asOn418(['dist/enactor-cni'], { PATH: process.env.PATH, CNI_COMMAND: 'NOTHING' }, asked);
  t.match(refused, { exitCode: 1, output: /"code": ?7/ }, 'what is wrong is told as ever');
  const host = await asOn418([
    process.execPath,
    'dist/enactor.js',
    'host',
    '--plugin',
    'dist/enactor-cni',
    '-o',
    'json',
  ]);
  t.match(host.output, /"refused": \[\]/);
  const late = "require('koffi').load('libc.so.6').func('long syscall(long, long, long)')(434, process.pid, 0)"; // pidfd_open, 5.3
  t.match(
    await asOn418([process.execPath, '-p', late]),
    { exitCode: 0, output: /^-1/ },
    'of what came later there is nothing',
  );
});
