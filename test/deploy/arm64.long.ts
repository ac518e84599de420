/**
 * The plugin for arm64, run: by qemu's user mode, which carries out its instructions and hands its system calls to the kernel of this machine, with glibc for arm64 beside
 * it. Not an arm64 kernel.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cannotMakeNamespaces, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { pluginBench, startPlugin } from '../plugin/plugin-process.ts';

t.setTimeout(600_000);
const QEMU = '/usr/bin/qemu-aarch64';
const GLIBC = '/usr/aarch64-linux-gnu';
const PLUGIN = join(import.meta.dirname, '../../dist/enactor-cni-arm64');

function built(): string | false {
  const missing = [QEMU, `${GLIBC}/lib/ld-linux-aarch64.so.1`].filter((path) => !existsSync(path));
  if (missing.length > 0)
    return `NOT RUN: needs ${missing.join(', ')} (packages qemu-user and libc6-arm64-cross): npm run soak installs them`;
  try {
    execFileSync('npm', ['run', 'build:arm64'], { stdio: 'ignore', timeout: 300_000 });
    return false;
  } catch (error) {
    return `NOT RUN: npm run build:arm64 failed, which fetches Bun's runtime for arm64: ${(error as Error).message}`;
  }
}

const skip = cannotMakeNamespaces() || built();

t.test(
  'arm64: the plugin tells its versions, refuses what is no verb, and makes, checks and removes a pod',
  { skip },
  async (t) => {
    const pod = new TestNamespace(t, 'pod');
    const host = new TestNamespace(t, 'host');
    const { daemon, directory, env, conf } = await pluginBench(t, pod);
    daemon.dual = true;
    const plugin = join(directory, 'plugin');
    writeFileSync(plugin, `#!/bin/sh\nexec ${QEMU} -L ${GLIBC} ${PLUGIN}\n`);
    chmodSync(plugin, 0o755);
    const run = (verb: string, more: object = {}) => startPlugin(host, { env: env(verb), stdin: conf(more), plugin });

    t.match((await run('VERSION')).json(), { supportedVersions: ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] });
    const wrong = await run('NOTHING');
    t.match([wrong.exitCode, wrong.json()], [1, { code: 4, msg: /"NOTHING" is unknown/ }]);

    // qemu's user mode translates what it knows of rtnetlink, and that is no rules and no neighbours: the pod's devices are made, then it refuses, and all of it goes again.
    const before = host.state();
    const added = await run('ADD');
    const refused = /EOPNOTSUPP/.test(added.stdout);
    if (refused) {
      t.match(
        [added.exitCode, added.json()],
        [1, { code: 11, msg: /^add r\w+ .*: EOPNOTSUPP$/ }],
        'as far as qemu lets it',
      );
      t.equal(daemon.calls.filter(({ method }) => method === 'ReleaseIP').length, 1, 'the address is given back');
      t.comment('ADD is made as far as the rules, CHECK NOT RUN: qemu knows no rtnetlink messages about rules');
    } else {
      t.equal(added.exitCode, 0, added.stdout + added.stderr);
      t.equal((await run('CHECK', { prevResult: added.json() })).exitCode, 0);
    }
    t.equal((await run('DEL', refused ? {} : { prevResult: added.json() })).exitCode, 0);
    t.equal(host.state(), before, 'nothing is left on the host');
    t.notMatch(pod.ip('link'), /eth0/, 'nor in the pod');
  },
);
