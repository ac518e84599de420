import '../in-box.ts';

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import t from 'tap';
import { mountsBelow, prepareBox } from '../../../src/lab/box/inside-box.ts';
import { Netns } from '../../../src/lab/netns/netns.ts';

const box = prepareBox();
const here = () => readlinkSync('/proc/thread-self/ns/net');
const devices = () =>
  readFileSync('/proc/thread-self/net/dev', 'utf8')
    .split('\n')
    .flatMap((line) => /^\s*(\S+):/.exec(line)?.[1] ?? [])
    .sort();

t.test('netns: a new namespace is empty, entered for one stretch, and left', async (t) => {
  const home = here();
  const ns = Netns.create(`${box.runDir}/netns/a`);
  t.teardown(() => ns.remove());
  const inside = ns.run(() => ({ id: here(), devices: devices() }));
  t.not(inside.id, home);
  t.strictSame(inside.devices, ['lo']);
  t.equal(here(), home, 'and we are back');
  t.throws(
    () =>
      ns.run(() => {
        throw new Error('thrown inside');
      }),
    /thrown inside/,
  );
  t.equal(here(), home, 'back after a throw as well');
});

t.test('netns: excursions do not nest, since the way back would be wrong', async (t) => {
  const ns = Netns.create(`${box.runDir}/netns/b`);
  t.teardown(() => ns.remove());
  t.throws(() => ns.run(() => ns.run(() => 1)), /do not nest/);
});

t.test('netns: a child started by its command line is inside', async (t) => {
  const ns = Netns.create(`${box.runDir}/netns/c`);
  t.teardown(() => ns.remove());
  const { command, args } = ns.command('readlink', ['/proc/self/ns/net']);
  t.equal(execFileSync(command, args, { encoding: 'utf8' }).trim(), ns.run(here));
});

t.test('netns: removal leaves neither name nor mount', async (t) => {
  const path = `${box.runDir}/netns/d`;
  const ns = Netns.create(path);
  t.ok(mountsBelow(path).length === 1);
  t.throws(() => Netns.create(path), { code: 'EEXIST' });
  ns.remove();
  ns.remove();
  t.strictSame(mountsBelow(path), []);
  t.notOk(existsSync(path));
  t.throws(() => ns.run(here), /was removed/);
});
