import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { bindUnixSocket } from '../../../src/adapters/http/unix-socket.ts';
import { shortDirectory } from './short-directory.ts';

function server(t: Test, greeting: string): Server {
  const made = createServer((socket) => socket.end(greeting));
  t.teardown(() => made.close());
  return made;
}

function greetingAt(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    connect(path)
      .on('data', (chunk) => {
        text += String(chunk);
      })
      .on('end', () => resolve(text))
      .on('error', reject);
  });
}

/** A path of exactly `size` bytes below `dir`. */
function pathOf(dir: string, size: number, filler = 'x'): string {
  const room = size - Buffer.byteLength(`${dir}/`);
  const unit = Buffer.byteLength(filler);
  return `${dir}/${filler.repeat(Math.floor(room / unit))}${'x'.repeat(room % unit)}`;
}

t.test('socket: it is for its owner alone, and goes when it is closed', async (t) => {
  const path = join(shortDirectory(t), 'made', 'too', 's');
  const bound = await bindUnixSocket(server(t, 'hello'), path);
  t.equal(lstatSync(path).mode & 0o777, 0o600);
  t.equal(await greetingAt(path), 'hello');
  t.equal(bound.stillOurs(), true);
  bound.close();
  bound.close();
  t.equal(existsSync(path), false);
});

t.test('socket: a dead daemon’s socket file is replaced', async (t) => {
  const dir = shortDirectory(t);
  const path = join(dir, 's');
  const dead = createServer();
  await new Promise<void>((resolve) => dead.listen(`${path}.dead`, resolve));
  renameSync(`${path}.dead`, path);
  dead.close();
  t.equal(existsSync(path), true, 'left behind');
  (await bindUnixSocket(server(t, 'alive'), path)).close();
});

t.test('socket: whatever else is at the path is named and left alone', async (t) => {
  const dir = shortDirectory(t);
  writeFileSync(join(dir, 'file'), 'precious');
  mkdirSync(join(dir, 'directory', 'inside'), { recursive: true });
  symlinkSync(join(dir, 'nowhere'), join(dir, 'dangling'));
  for (const [name, what] of [
    ['file', /file is a regular file/],
    ['directory', /directory is a directory/],
    ['dangling', /dangling is a symbolic link/],
  ] as const) {
    await t.rejects(bindUnixSocket(server(t, ''), join(dir, name)), { code: 'invalidArgument', message: what });
  }
  await t.rejects(bindUnixSocket(server(t, ''), join(dir, 'file', 's')), { code: 'invalidArgument', message: /file/ });
  t.strictSame(readdirSync(dir).sort(), ['dangling', 'directory', 'file']);
  t.equal(existsSync(join(dir, 'directory', 'inside')), true);
});

t.test('socket: 107 bytes of path work, multi-byte too; one more is refused and nothing is made', async (t) => {
  const dir = shortDirectory(t);
  for (const path of [pathOf(dir, 100), pathOf(dir, 107), pathOf(dir, 107, 'é')]) {
    const bound = await bindUnixSocket(server(t, path), path);
    t.equal(await greetingAt(path), path);
    bound.close();
  }
  for (const path of [pathOf(dir, 108), pathOf(dir, 109, 'é'), pathOf(dir, 200), join(dir, 'new', 'x'.repeat(107))]) {
    await t.rejects(bindUnixSocket(server(t, ''), path), { message: /bytes long; the limit is 107/ });
  }
  t.strictSame(readdirSync(dir), []);
});

t.test('socket: a file that took our place is not removed when we close', async (t) => {
  const path = join(shortDirectory(t), 's');
  const bound = await bindUnixSocket(server(t, 'old'), path);
  rmSync(path);
  t.equal(bound.stillOurs(), false);
  const other = await bindUnixSocket(server(t, 'new'), path);
  bound.close();
  t.equal(await greetingAt(path), 'new');
  other.close();

  const bound2 = await bindUnixSocket(server(t, 'old'), path);
  rmSync(path);
  writeFileSync(path, 'precious');
  bound2.close();
  t.equal(lstatSync(path).isFile(), true);
});

t.test('socket: one that was deleted is bound anew, with its directory; who is connected stays', async (t) => {
  const dir = shortDirectory(t);
  const path = join(dir, 'deep', 's');
  const bound = await bindUnixSocket(server(t, 'here'), path);
  t.equal(await bound.restore(), false);
  rmSync(join(dir, 'deep'), { recursive: true });
  t.equal(await bound.restore(), true);
  t.equal(await greetingAt(path), 'here');
  t.equal(lstatSync(path).mode & 0o777, 0o600);
  t.equal(bound.stillOurs(), true);
  rmSync(path);
  writeFileSync(path, 'precious');
  await t.rejects(bound.restore(), { message: /s was taken away: something else is in its place/ });
  t.equal(lstatSync(path).isFile(), true);
  rmSync(path);
  t.equal(await bound.restore(), true, 'once it has gone');
  bound.close();
  t.equal(await bound.restore(), false, 'not after the end');
  t.equal(existsSync(path), false);
});
