import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'tap';
import { startApiServer } from '../../../src/lab/apiserver/api-server.ts';
import { Netns } from '../../../src/lab/netns/netns.ts';

const isRoot = process.getuid?.() === 0;

test('api server: it listens in another network namespace and is not seen in this one', {
  skip: isRoot ? false : 'NOT RUN: making a network namespace needs root',
}, async (t) => {
  // Not in t.testdir(), which goes before the teardowns run: a mount has to go first.
  const dir = mkdtempSync(join(tmpdir(), 'enactor-apiserver-'));
  const netns = Netns.create(join(dir, 'netns'));
  t.teardown(() => {
    netns.remove();
    rmSync(dir, { recursive: true });
  });
  const inside = (program: string, args: string[]) => netns.command(program, args);
  const up = inside('ip', ['link', 'set', 'lo', 'up']);
  execFileSync(up.command, up.args);
  const server = await startApiServer({ within: (bind) => netns.run(() => void bind()) });
  t.teardown(() => server.close());
  const program =
    'require("node:https").get(process.argv[1], { ca: process.env.CA, headers: { authorization: process.env.WHO } },' +
    '(r) => { console.log(r.statusCode); r.resume(); }).on("error", (e) => console.log(e.code))';
  const args = ['-e', program, `${server.url}/api/v1/nodes`];
  const env = { ...process.env, CA: server.ca, WHO: `Bearer ${server.token}`, NODE_OPTIONS: '' };
  const run = promisify(execFile);
  const there = inside(process.execPath, args);
  t.equal((await run(there.command, there.args, { env })).stdout.trim(), '200');
  t.equal((await run(process.execPath, args, { env })).stdout.trim(), 'ECONNREFUSED');
});
