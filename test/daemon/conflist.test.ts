import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { takenInsteadOf } from '../../src/core/cni-order.ts';
import { CONFLIST_NAME, installConflist } from '../../src/daemon/conflist.ts';

const conflist = {
  daemonSocket: '/run/e.sock',
  dataDir: '/var/lib/e',
  mtu: 1500,
  host_stack_cidrs: ['169.254.20.10/32'],
};

t.test('conflist: it is what the runtime reads, written whole, and only when it changes', async (t) => {
  const directory = join(t.testdir(), 'net.d');
  t.equal(await installConflist(directory, conflist), true);
  t.strictSame(JSON.parse(readFileSync(join(directory, CONFLIST_NAME), 'utf8')), {
    cniVersion: '1.0.0',
    cniVersions: ['1.0.0', '1.1.0'],
    name: 'enactor',
    plugins: [
      {
        type: 'enactor-cni',
        capabilities: { bandwidth: true },
        daemonSocket: '/run/e.sock',
        dataDir: '/var/lib/e',
        mtu: 1500,
        host_stack_cidrs: ['169.254.20.10/32'],
      },
    ],
  });
  t.strictSame(readdirSync(directory), [CONFLIST_NAME]);
  utimesSync(join(directory, CONFLIST_NAME), 1, 1);
  t.equal(await installConflist(directory, conflist), false);
  t.equal(statSync(join(directory, CONFLIST_NAME)).mtimeMs, 1_000, 'untouched');
  t.equal(await installConflist(directory, { ...conflist, mtu: 8500 }), true);
});

t.test('conflist: of several the runtime takes the first by name, whatever else lies there', async (t) => {
  t.equal(takenInsteadOf(CONFLIST_NAME, [CONFLIST_NAME, '10-terway.conflist', '99-loopback.conf']), null);
  t.equal(takenInsteadOf(CONFLIST_NAME, ['05-a.conf', CONFLIST_NAME, '00-b.json']), '00-b.json');
  t.equal(takenInsteadOf(CONFLIST_NAME, ['00-a.conf.bak', '.enactor', CONFLIST_NAME]), null);
});

t.test(
  'conflist: once it is in its place something is removed beside it, without which containerd would not look',
  async (t) => {
    const directory = t.testdir();
    const seen: (string | null)[] = [];
    const watcher = watch(directory, (_, name) => seen.push(name));
    t.teardown(() => watcher.close());
    const settled = async (): Promise<void> => {
      // The watcher tells in order: what was done before this mark is told before it.
      const mark = `mark-${seen.length}`;
      writeFileSync(join(directory, mark), '');
      while (!seen.includes(mark)) await sleep(5);
    };
    await installConflist(directory, conflist);
    await settled();
    const placed = seen.indexOf(CONFLIST_NAME);
    t.ok(placed >= 0, 'it was put there');
    t.ok(seen.indexOf('.enactor', placed) > placed, `the folder it was finished in went afterwards: ${seen}`);

    mkdirSync(join(directory, '.enactor'));
    t.equal(await installConflist(directory, conflist), false);
    await settled();
    t.notOk(readdirSync(directory).includes('.enactor'), 'one that ended before that does it at its next start');
  },
);

t.test('conflist: what cannot be written leaves nothing behind and keeps what was there', async (t) => {
  const directory = t.testdir({ file: 'x' });
  await t.rejects(installConflist(join(directory, 'file'), conflist), { code: /EEXIST|ENOTDIR/ });
  mkdirSync(join(directory, CONFLIST_NAME));
  writeFileSync(join(directory, CONFLIST_NAME, 'inside'), '');
  await t.rejects(installConflist(directory, conflist), { code: 'EISDIR' });
  t.strictSame(readdirSync(directory).sort(), [CONFLIST_NAME, 'file']);
});
