/** B59, all together: daemon, the configuration it installs, plugin and CLI agree on a socket path up to 107 bytes, and refuse longer ones. */
import '../lab/in-box.ts';

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { Netns } from '../../src/lab/netns/netns.ts';
import { type Machine, machine, NODE } from '../daemon/machine.ts';

t.setTimeout(120_000);
const DIST = resolve(process.env.ENACTOR_DIST ?? 'dist');
const CLI = join(DIST, 'enactor.js');
const PLUGIN = join(DIST, 'enactor-cni');
const missing = [CLI, PLUGIN].filter((path) => !existsSync(path));
const skip = missing.length > 0 && `NOT RUN: ${missing.join(', ')} not built (npm run build)`;

type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Without the loaders that tap would put into every child. */
function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv, stdin = '', cwd = '/'): Promise<Ran> {
  return new Promise((done) => {
    const clean = ['-i', `PATH=${process.env.PATH}`, ...Object.entries(env).map(([key, value]) => `${key}=${value}`)];
    const child = execFile('env', [...clean, program, ...args], { cwd }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
    child.stdin?.end(stdin);
  });
}

const status = (path: string, cwd?: string) =>
  run(process.execPath, [CLI, 'status', '--debug-socket', path], {}, '', cwd);

function pluginRun(verb: string, pod: string, netns: string, conf: object): Promise<Ran> {
  const env = {
    CNI_COMMAND: verb,
    CNI_CONTAINERID: `c-${pod}`,
    CNI_NETNS: netns,
    CNI_IFNAME: 'eth0',
    CNI_PATH: DIST,
    CNI_ARGS: `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod}`,
  };
  return run(PLUGIN, [], env, JSON.stringify(conf));
}

/** As a runtime reads what the daemon installed. */
function installed(here: Machine): Record<string, unknown> {
  const list = JSON.parse(readFileSync(join(here.dir, 'cni', '10-enactor.conflist'), 'utf8'));
  return { ...list.plugins[0], name: list.name, cniVersion: list.cniVersion };
}

/** A path of exactly `size` bytes, told apart by its first sign. */
function pathOf(dir: string, size: number, first: string, filler = 'x'): string {
  const room = size - Buffer.byteLength(`${dir}/${first}`);
  const unit = Buffer.byteLength(filler);
  return `${dir}/${first}${filler.repeat(Math.floor(room / unit))}${'x'.repeat(room % unit)}`;
}

async function works(t: Test, here: Machine, what: string, paths: (first: string) => string, cwd: string) {
  const [jsonSocket, grpcSocket, debugSocket] = [paths('j'), paths('g'), paths('d')];
  const daemon = here.start({ jsonSocket, grpcSocket, debugSocket: resolve(cwd, debugSocket) }, cwd);
  await daemon.serving();
  await daemon.until(async () => existsSync(join(here.dir, 'cni', '10-enactor.conflist')));
  const conf = installed(here);
  t.equal(conf.daemonSocket, resolve(cwd, jsonSocket), `${what}: the configuration names it`);
  const pod = `p${what.replaceAll(/\W/g, '')}`;
  here.addPod(pod);
  const netns = Netns.create(join(here.dir, 'netns', pod));
  const added = await pluginRun('ADD', pod, netns.path, conf);
  t.equal(added.code, 0, `${what}: ${added.stdout}`);
  const shown = await status(debugSocket, cwd);
  t.equal(shown.code, 0, `${what}: ${shown.stderr}`);
  t.match(shown.stdout, `default/${pod}`, `${what}: the CLI sees the pod`);
  t.equal((await pluginRun('DEL', pod, netns.path, conf)).code, 0);
  netns.remove();
  t.strictSame(await daemon.stop(), { code: 0, signal: null });
  rmSync(join(here.dir, 'cni', '10-enactor.conflist'));
}

t.test('B59: up to 107 bytes daemon, configuration, plugin and CLI meet', { skip }, async (t) => {
  const here = await machine(t);
  const dir = join(here.dir, 's');
  mkdirSync(dir);
  t.equal(NODE, 'node-1');
  await works(t, here, '107 bytes', (first) => pathOf(dir, 107, first), here.dir);
  await works(t, here, '107 bytes of two each', (first) => pathOf(dir, 107, first, 'é'), here.dir);
  await works(t, here, 'a relative path', (first) => `s/${first}`, here.dir);
  t.strictSame(readdirSync(dir), []);
});

t.test(
  'B59: beyond, the CLI refuses at once, names path and limit, and does not take a cut name for it',
  { skip },
  async (t) => {
    const here = await machine(t);
    const dir = join(here.dir, 's');
    mkdirSync(dir);
    const long = pathOf(dir, 140, 'd');
    let calls = 0;
    const other = createServer((_, response) => {
      calls += 1;
      response.end('{}');
    });
    await new Promise<void>((done) => other.listen(long.slice(0, 107), done));
    t.teardown(() => other.close());
    for (const path of [pathOf(dir, 108, 'd'), pathOf(dir, 109, 'd', 'é'), long, pathOf(dir, 200, 'd')]) {
      const { code, stderr, stdout } = await status(path);
      t.equal(code, 2, 'wrong usage');
      t.equal(stdout, '');
      t.ok(stderr.includes(path) && /the limit is 107/.test(stderr), stderr);
      t.notMatch(stderr, /\n\s+at /, 'no stack');
    }
    t.equal(calls, 0);
    t.equal(readdirSync(dir).length, 1, 'no stray file');
  },
);
