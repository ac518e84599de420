import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'tap';
import { COMPILE_INTO, compiledName, dataDirIn, isCompiledName, keepCompiled } from '../../src/daemon/compiled-code.ts';

const DIST = resolve(process.env.ENACTOR_DIST ?? 'dist');
const skip = existsSync(join(DIST, 'enactord.cjs')) ? false : 'NOT RUN: enactord.cjs is not built (npm run build)';

test('compiled code: the data directory is the one that the daemon’s flags name', (t) => {
  for (const [argv, directory] of [
    [[], '/var/lib/cni/enactor'],
    [['--data-dir', '/a'], '/a'],
    [['--data-dir=/b', '--log-level', 'info'], '/b'],
    [['--data-dir', '/a', '--data-dir=/b'], '/b'],
    [['--data-dir'], '/var/lib/cni/enactor'],
  ] as const)
    t.equal(dataDirIn(['node', 'enactord.js', ...argv]), directory, argv.join(' '));
  t.end();
});

test('compiled code: what is kept takes the place of older versions, and a directory that is not there is no error', (t) => {
  const directory = t.testdir({ [compiledName('old')]: 'old', 'leases.ldb': 'theirs' });
  const name = compiledName('new');
  keepCompiled(directory, name, { createCachedData: () => Buffer.from('compiled') });
  t.strictSame(readdirSync(directory).sort(), [name, 'leases.ldb'].sort());
  t.equal(readFileSync(join(directory, name), 'utf8'), 'compiled');
  t.doesNotThrow(() => keepCompiled(join(directory, 'none'), name, { createCachedData: () => Buffer.alloc(1) }));
  t.end();
});

test('compiled code: a daemon starts with what was compiled, with another’s and with none', { skip }, (t) => {
  const directory = t.testdir();
  for (const name of ['enactord.js', 'enactord.cjs']) copyFileSync(join(DIST, name), join(directory, name));
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  const { NODE_OPTIONS: _taps, ...env } = process.env;
  const modules = resolve('node_modules');
  const help = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(directory, 'enactord.js'), ...args, '--help'], {
      encoding: 'utf8',
      env: { ...env, NODE_PATH: modules },
    });
  const without = help(COMPILE_INTO, directory);
  t.match(without, { status: 0, stderr: '', stdout: /--data-dir/ });
  const [name = ''] = readdirSync(directory).filter(isCompiledName);
  t.ok(name.includes(process.version), name);
  const compiled = readFileSync(join(directory, name));
  t.match(help(), { status: 0, stdout: without.stdout }, 'with it');
  for (const [what, bytes] of [
    ['of another version of V8', Buffer.concat([compiled.subarray(0, 4), Buffer.from('other'), compiled.subarray(9)])],
    ['cut off', compiled.subarray(0, 20)],
  ] as const) {
    writeFileSync(join(directory, name), bytes);
    t.match(help(), { status: 0, stderr: '', stdout: without.stdout }, what);
  }
  t.end();
});

/** Calls functions once, and then works on without them for as long as makes V8 collect some ten times; it counts what is compiled as it collects. */
const WORK = `
const { getHeapCodeStatistics } = require('node:v8');
const compiled = () => getHeapCodeStatistics().bytecode_and_metadata_size;
const one = (nth) => '(n) => { if (n > ' + nth + ') return [n, ' + nth + ']; return { n, more: n * ' + nth + ' }; }';
const source = '[' + Array.from({ length: 500 }, (_, nth) => one(nth)).join() + ']';
const all = require('node:vm').runInThisContext(source);
for (const each of all) each(1);
const held = [];
const sizes = [];
const work = (left) => {
  held[left % 5] = new Array(500_000).fill(left);
  sizes.push(compiled());
  if (left > 0) setImmediate(work, left - 1);
  else console.log(JSON.stringify({ functions: all.length, most: Math.max(...sizes), last: sizes.at(-1) }));
};
work(400);
`;

test('compiled code: what an ADD needs, and what the next start will want, outlasts collections that have not seen it called', {
  skip,
}, (t) => {
  const directory = t.testdir({ 'package.json': '{"type":"module"}', 'enactord.cjs': WORK });
  copyFileSync(join(DIST, 'enactord.js'), join(directory, 'enactord.js'));
  const { NODE_OPTIONS: _taps, ...env } = process.env;
  const script = join(directory, 'enactord.js');
  const { stdout, stderr } = spawnSync(process.execPath, [script, '--data-dir', directory], { encoding: 'utf8', env });
  t.equal(stderr, '');
  const { most, last } = JSON.parse(stdout) as { most: number; last: number };
  t.ok(most > 100_000, `compiled: ${most} bytes`);
  t.ok(last > most / 2, `in the end ${last} bytes`);
  t.end();
});
