/** P1 and more: what an installation writes to a host, whole or not at all, and that uninstalling leaves nothing of it. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { tryFileLock } from '../../src/adapters/locks/file-lock.ts';
import { DROP_INS, MARK } from '../../src/cli/install/guest-agents.ts';
import { hostChecks } from '../../src/cli/install/host-checks.ts';
import { install } from '../../src/cli/install/install.ts';
import { placeFile } from '../../src/cli/install/place-file.ts';
import { primaryIn } from '../../src/cli/install/primary-device.ts';
import { obstacles, removeFiles } from '../../src/cli/install/uninstall.ts';
import { PLUGIN_MARK } from '../../src/core/plugin-mark.ts';
import { cannotMakeNamespaces, TestNamespace } from '../adapters/netlink/namespaces.ts';

/** For plugins that nobody runs. */
const any = () => {};
const primary = { name: 'eth0', mac: '00:16:3e:00:00:01' };

/** A host's root; `files` by path, with what is in them. */
function host(t: Test, files: Readonly<Record<string, string>> = {}): string {
  const root = t.testdir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

function treeOf(root: string): readonly string[] {
  return (
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => !statSync(join(root, path)).isDirectory())
      // What tap notes of every process it sees, by a path that is another one within the root.
      .filter((path) => !path.includes('.tap/processinfo/'))
      .sort()
  );
}

const pluginAt = (root: string): string => {
  const path = join(root, 'plugin');
  writeFileSync(path, 'the plugin');
  return path;
};

t.test(
  'install: where Terway was, its plugin is kept, ours answers to its name, and goes with the uninstallation',
  async (t) => {
    const bin = (root: string, name: string): string => join(root, 'opt/cni/bin', name);
    const root = host(t, { 'opt/cni/bin/terway': 'Terway’s' });
    const plugin = pluginAt(root);
    for (const text of [`${PLUGIN_MARK} 1`, `${PLUGIN_MARK} 2`]) {
      writeFileSync(plugin, text);
      const steps = install(root, plugin, null, any);
      t.match(steps, [{ path: 'opt/cni/bin/enactor-cni' }, { path: 'opt/cni/bin/terway', is: 'written' }]);
      t.equal(readFileSync(bin(root, 'terway'), 'utf8'), text);
      t.equal(
        readFileSync(bin(root, 'terway.before-enactor'), 'utf8'),
        'Terway’s',
        'an upgrade of ours keeps no older one of ours',
      );
    }
    t.not(
      statSync(bin(root, 'terway')).ino,
      statSync(bin(root, 'enactor-cni')).ino,
      'whoever copies over it spares ours',
    );
    removeFiles(root);
    t.strictSame(readdirSync(join(root, 'opt/cni/bin')), ['terway']);
    t.equal(readFileSync(bin(root, 'terway'), 'utf8'), 'Terway’s');

    install(root, plugin, null, any);
    writeFileSync(bin(root, 'terway'), 'Terway’s, newer');
    removeFiles(root);
    t.equal(readFileSync(bin(root, 'terway'), 'utf8'), 'Terway’s, newer', 'one that came back meanwhile stays');
    t.strictSame(readdirSync(join(root, 'opt/cni/bin')), ['terway']);
  },
);

t.test('install: while Terway’s daemon is at work nothing is changed, and whoever asks is told', async (t) => {
  const root = host(t, { 'opt/cni/bin/terway': 'Terway’s', 'run/eni/terwayd.lock': '' });
  const plugin = pluginAt(root);
  writeFileSync(plugin, `${PLUGIN_MARK} 1`);
  const lock = tryFileLock(join(root, 'run/eni/terwayd.lock'));
  t.throws(() => install(root, plugin, null, any), /Terway’s daemon is at work .* nothing is changed/);
  t.strictSame(readdirSync(join(root, 'opt/cni/bin')), ['terway']);
  t.equal(readFileSync(join(root, 'opt/cni/bin/terway'), 'utf8'), 'Terway’s');
  lock?.release();
  t.equal(install(root, plugin, null, any).length, 2, 'once it is gone ours takes its place');
  const ours = tryFileLock(join(root, 'run/eni/terwayd.lock'));
  writeFileSync(plugin, `${PLUGIN_MARK} 2`);
  t.equal(install(root, plugin, null, any).length, 2, 'our own daemon does not keep our plugin from an upgrade');
  ours?.release();
});

t.test(
  'install: plugin and drop-ins of the agents that are there, and of no other; again, nothing changes',
  async (t) => {
    const root = host(t, {
      'usr/lib/systemd/system/NetworkManager.service': '',
      'usr/lib/udev/rules.d/61-eni.rules': 'SUBSYSTEM=="net"',
    });
    const plugin = pluginAt(root);
    const steps = install(root, plugin, primary, any);
    t.strictSame(
      steps.map(({ what, is }) => [what, is]),
      [
        ['plugin', 'written'],
        ['NetworkManager', 'written'],
        ['udev rule 61-eni', 'written'],
      ],
    );
    t.equal(statSync(join(root, 'opt/cni/bin/enactor-cni')).mode & 0o777, 0o755);
    t.strictSame(readdirSync(join(root, 'opt/cni/bin')), ['enactor-cni'], 'nothing unfinished is left');
    const told = readFileSync(join(root, 'etc/NetworkManager/conf.d/90-enactor.conf'), 'utf8');
    t.match(told, /^unmanaged-devices\+=.*except:mac:00:16:3e:00:00:01$/m, 'the node’s own card stays managed');
    t.notOk(existsSync(join(root, 'etc/systemd/network')));
    const before = treeOf(root).map((path) => [path, statSync(join(root, path)).ino]);
    t.ok(install(root, plugin, primary, any).every(({ is }) => is === 'there already'));
    t.strictSame(
      treeOf(root).map((path) => [path, statSync(join(root, path)).ino]),
      before,
    );
  },
);

t.test(
  'install: without a default route agents are told nothing, since they would leave the node’s own card alone',
  async (t) => {
    const root = host(t, { 'usr/lib/systemd/system/NetworkManager.service': '' });
    t.strictSame(
      install(root, pluginAt(root), null, any).map(({ what }) => what),
      ['plugin'],
    );
  },
);

t.test('install: every agent’s words name the node’s own card, or no card at all', async (t) => {
  for (const { agent, text } of DROP_INS) {
    const said = text(primary);
    t.match(said, MARK, agent);
    if (/unmanaged/i.test(said)) t.match(said, /!eth0|except:mac:00:16:3e:00:00:01/, agent);
  }
});

t.test(
  'install: a file is replaced by a rename, whatever the umask; a planted link is not written through',
  async (t) => {
    const root = host(t, { 'etc/passwd': 'root', old: 'running' });
    const path = join(root, 'bin/enactor-cni');
    mkdirSync(dirname(path));
    symlinkSync(join(root, 'etc/passwd'), path);
    const mask = process.umask(0o077);
    try {
      t.ok(placeFile(path, Buffer.from('new'), 0o755));
    } finally {
      process.umask(mask);
    }
    t.equal(readFileSync(join(root, 'etc/passwd'), 'utf8'), 'root');
    t.ok(lstatSync(path).isFile());
    t.equal(statSync(path).mode & 0o777, 0o755);
    const old = statSync(path).ino;
    placeFile(path, Buffer.from('newer'), 0o755);
    t.not(statSync(path).ino, old, 'who runs the old one keeps it');
    mkdirSync(join(root, 'taken/full'), { recursive: true });
    t.throws(() => placeFile(join(root, 'taken'), Buffer.from('x'), 0o644));
    t.notOk(
      readdirSync(root).some((name) => name.startsWith('.taken')),
      'what could not be placed is not left',
    );
  },
);

t.test('install: the primary device is that of the default route with the least metric', async (t) => {
  const head = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n';
  const route = (name: string, to: string, metric: number, mask = to) =>
    `${name}\t${to}\t0100A8C0\t0003\t0\t0\t${metric}\t${mask}\t0\t0\t0\n`;
  const mac = (name: string) => `mac of ${name}\n`;
  const all =
    head + route('eth1', '00000000', 200) + route('eth0', '00000000', 100) + route('eth2', '0000A8C0', 0, '00FFFFFF');
  t.strictSame(primaryIn(all, mac), { name: 'eth0', mac: 'mac of eth0' });
  t.equal(primaryIn(head, mac), null);
});

t.test(
  'install: a host that is too old is refused with a sentence, and another CNI that comes first is told',
  async (t) => {
    const said = (kernel: string, arch: string, root: string) =>
      hostChecks({ kernel, arch, glibc: '2.36' }, root).map(({ check, is, says }) => `${check} ${is}: ${says}`);
    const empty = host(t);
    t.match(said('5.10.134-16.al8.x86_64', 'x64', empty), [/^machine ok/, /^other CNI ok/]);
    t.match(said('3.10.0-1160', 'x64', empty), [/^machine problem: .*3\.10\.0/]);
    t.match(said('5.10.0', 'riscv64', empty), [/^machine problem: .*riscv64/]);
    mkdirSync(join(empty, 'etc/cni/net.d'), { recursive: true });
    writeFileSync(join(empty, 'etc/cni/net.d/00-terway.conflist'), '{}');
    t.match(said('5.10.0', 'x64', empty), [/^machine ok/, /^other CNI warning: 00-terway\.conflist comes before/]);
  },
);

t.test('install: a plugin that does not run on the host leaves the one that is there in its place', async (t) => {
  const root = host(t, { 'opt/cni/bin/enactor-cni': 'the old one' });
  const refuse = () => {
    throw new Error('version `GLIBC_2.99 not found');
  };
  t.throws(() => install(root, pluginAt(root), primary, refuse), /GLIBC_2\.99/);
  t.equal(readFileSync(join(root, 'opt/cni/bin/enactor-cni'), 'utf8'), 'the old one');
  t.strictSame(readdirSync(join(root, 'opt/cni/bin')), ['enactor-cni']);
});

t.test('uninstall: nothing of ours is left, and all that others have there stays', async (t) => {
  const theirs = {
    'usr/lib/systemd/system/NetworkManager.service': '',
    'usr/lib/systemd/system/eni.service': '',
    'etc/udev/rules.d/60-net.rules': 'their own rule',
    'usr/lib/udev/rules.d/61-eni.rules': '',
    'etc/cni/net.d/99-other.conflist': '{}',
    'opt/cni/bin/loopback': '',
    'run/other.sock': '',
  };
  const root = host(t, theirs);
  const before = treeOf(root);
  const plugin = pluginAt(root);
  install(root, plugin, primary, any);
  for (const path of ['etc/cni/net.d/10-enactor.conflist', 'run/eni/terwayd.lock', 'var/lib/cni/enactor/db/CURRENT']) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), '');
  }
  t.ok(removeFiles(root).length >= 5);
  t.strictSame(
    treeOf(root).filter((path) => path !== 'plugin'),
    before,
  );
  t.notOk(existsSync(join(root, 'run/eni')));
  t.strictSame(removeFiles(root), [], 'again, nothing');
});

t.test('uninstall: refuses while pods or the daemon are there', async (t) => {
  const root = host(t, { 'run/eni/eni_debug.socket': '' });
  t.match(obstacles(root, [{ name: 'lo' }, { name: 'cali0a1b2c3d4e5' }]), [/1 pods/, /delete the DaemonSet/]);
  t.strictSame(obstacles(host(t), [{ name: 'lo' }, { name: 'eth1' }]), []);
});

const skip = cannotMakeNamespaces();
t.test('install and uninstall: the commands, in a network namespace with our rules and table', { skip }, async (t) => {
  // The plugin is run in this root: what it needs of the host is mounted there, in the mount namespace of `ip netns exec` alone.
  const root = host(t);
  const folders = ['dev', 'lib', 'lib64', 'proc', 'usr'];
  for (const path of folders) mkdirSync(join(root, path));
  const mounts = folders.map((path) => `mount --rbind /${path} '${root}/${path}'`).join(' && ');
  const netns = new TestNamespace(t, 'host');
  const inside = (...command: readonly string[]) =>
    spawnSync('ip', ['netns', 'exec', netns.name, 'sh', '-c', `${mounts} && exec "$@"`, 'sh', ...command], {
      encoding: 'utf8',
      timeout: 60_000,
    });
  const enactor = (...args: readonly string[]) => inside('node', 'dist/enactor.js', ...args, '--host-root', root);
  const installed = enactor('install');
  t.equal(installed.status, 0, installed.stderr + installed.stdout);
  t.match(installed.stdout, /plugin: .*enactor-cni written/);
  t.match(
    execFileSync(join(root, 'opt/cni/bin/enactor-cni'), {
      env: { CNI_COMMAND: 'VERSION' },
      input: '{"cniVersion":"1.0.0"}',
      encoding: 'utf8',
    }),
    /supportedVersions/,
  );
  for (const rule of [
    ['add', 'fwmark', '0x10/0x10', 'lookup', 'main', 'priority', '600'],
    ['add', 'from', '10.0.0.4/32', 'lookup', '1003', 'priority', '2048'],
    ['add', 'from', '10.9.9.9/32', 'lookup', '77', 'priority', '700'],
  ])
    t.equal(inside('ip', 'rule', ...rule).status, 0);
  const nft = inside('nft', 'add', 'table', 'inet', 'enactor');
  if (nft.status !== 0) t.comment('NOT LOOKED AT: the table of nf_tables (nft is not here)');
  t.equal(inside('ip', 'link', 'add', 'cali1', 'type', 'veth', 'peer', 'name', 'p1').status, 0);
  const refused = enactor('uninstall');
  t.equal(refused.status, 1);
  t.match(refused.stderr, /1 pods of this node have our devices/);
  inside('ip', 'link', 'del', 'cali1');
  const gone = enactor('uninstall');
  t.equal(gone.status, 0, gone.stderr);
  t.strictSame(
    inside('ip', 'rule', 'show').stdout.match(/^\d+:/gm),
    ['0:', '700:', '32766:', '32767:'],
    'another’s rule stays',
  );
  t.notMatch(inside('nft', 'list', 'tables').stdout, /enactor/);
  t.strictSame(treeOf(root), []);
});

t.test('install: a directory that cannot be written is told by its path', async (t) => {
  const root = host(t, { 'opt/cni': 'a file in the way' });
  t.throws(() => install(root, pluginAt(root), primary, any), /opt\/cni/);
  chmodSync(root, 0o755);
});
