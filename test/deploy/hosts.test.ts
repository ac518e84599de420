/** What deploy/operation.md says of the hosts that the programs run on is what they ask for themselves: the loader refuses an older glibc. */
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'tap';

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
