/** `enactor host`: the plugin is run where it will have to run, and what keeps it from that is told in a sentence. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { whyPluginFails } from '../../src/cli/plugin-trial.ts';

const PLUGIN = join(import.meta.dirname, '../../dist/enactor-cni');
const dir = mkdtempSync(join(tmpdir(), 'enactor-host-'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

function program(name: string, content: string | Buffer): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  chmodSync(path, 0o755);
  return path;
}

t.test(
  'host: the built plugin runs here',
  {
    skip: !existsSync(PLUGIN) && `NOT RUN: ${PLUGIN} is not built (npm run build)`,
  },
  async (t) => {
    t.equal(whyPluginFails(PLUGIN, null), null);
    if (process.getuid?.() === 0) t.equal(whyPluginFails(PLUGIN, '/'), null, 'in a root of its own');
    else t.comment('NOT RUN in a root of its own: that needs root');
  },
);

t.test('host: a loader that refuses, a plugin that answers something else, one that never ends', async (t) => {
  const old = program('old', '#!/bin/sh\necho "$0: /lib/libc.so.6: version \'GLIBC_2.99\' not found" >&2\nexit 1\n');
  t.match(whyPluginFails(old, null), /old does not run: .*GLIBC_2\.99/);
  const other = program('other', '#!/bin/sh\necho hello\n');
  t.match(whyPluginFails(other, null), /other answered no versions: hello/);
  t.match(whyPluginFails(program('dies', '#!/bin/sh\nkill -KILL $$\n'), null), /dies does not run: ended by SIGKILL/);
  t.match(whyPluginFails(join(dir, 'none'), null), /none cannot be run: .*ENOENT/);
});

t.test('host: an executable of another machine', async (t) => {
  const elf = Buffer.alloc(64);
  readFileSync('/proc/self/exe').copy(elf, 0, 0, 64);
  elf.writeUInt16LE(243, 18); // e_machine: RISC-V
  t.match(whyPluginFails(program('riscv', elf), null), /riscv (cannot be run|does not run): /);
});
