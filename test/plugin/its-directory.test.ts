/** The runtime's working directory is whoever's: Bun would read `.env` and `bunfig.toml` there, and a pod's ADD would be what they say. */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { PLUGIN } from './plugin-process.ts';

const skip = !existsSync(PLUGIN) && `NOT RUN: ${PLUGIN} is not built (npm run build)`;

test('the plugin takes nothing from files that lie where it is started', { skip }, async (t) => {
  const cwd = t.testdir({});
  writeFileSync(join(cwd, '.env'), 'CNI_COMMAND=VERSION\n');
  writeFileSync(join(cwd, 'preload.js'), 'console.log("preloaded"); process.exit(3);\n');
  writeFileSync(join(cwd, 'bunfig.toml'), 'preload = ["./preload.js"]\n');
  const { status, stdout, stderr } = spawnSync(PLUGIN, [], { cwd, env: { PATH: process.env.PATH }, encoding: 'utf8' });
  t.equal(status, 0);
  t.equal(stdout, '', 'it was asked for no VERSION');
  t.match(stderr, /a CNI plugin/);
});
