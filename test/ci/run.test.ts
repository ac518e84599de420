/** Test files run from their bundles (.ci/tests): each ends as it would by tap's runner, and what failed is told by its place in the TypeScript. */
import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import t from 'tap';
import { inSources } from '../../.ci/in-sources.ts';
import { type Failure, type FileSummary, readTap } from '../../.ci/tap-summary.ts';

const PASSES = `import t from 'tap';
t.strictSame([process.argv[1], import.meta.filename], [import.meta.filename, import.meta.filename], 'the program is the TypeScript');
t.equal(process.env.NODE_OPTIONS, undefined, 'and what it starts is started as in life');
t.match(t.testdir(), /passes\\.test\\.ts/, 'its folder too is named for it');
`;
const FAILS = `import t from 'tap';

type Two = { readonly two: number };

t.test('inner', async (t) => {
  const two: Two = { two: 1 };
  t.same(two, { two: 2 }, 'is two');
});
`;
const HANGS = `import t from 'tap';
t.setTimeout(1_500);
t.test('waits', () => new Promise((resolve) => setTimeout(resolve, 60_000)));
`;
const LOOSE = `// bundle: no, each source by itself
import t from 'tap';
t.match(new Error().stack, /loose\\.test\\.ts/, 'it is what Node runs');
`;

t.test('run: files pass, fail, crash and hang, each as itself', async (t) => {
  const dir = t.testdir({
    ...{ 'passes.test.ts': PASSES, 'fails.test.ts': FAILS, 'hangs.test.ts': HANGS, 'loose.test.ts': LOOSE },
    'crashes.test.ts': 'process.exit(3);\n',
  });
  const named = (name: string) => relative('.', join(dir, `${name}.test.ts`));
  const files = ['passes', 'fails', 'crashes', 'hangs', 'loose'].map(named);
  const bundles = join(dir, 'bundles');
  const bundled = spawnSync('node', ['.ci/tests/bundle.mjs', bundles, ...files], { encoding: 'utf8' });
  t.equal(bundled.status, 0, bundled.stderr);

  const settings = { jobs: 5, timeout: 200, alone: [], nodeArgs: [] };
  const args = ['.ci/tests/run.mjs', bundles, JSON.stringify(settings), ...files];
  const ran = spawnSync('node', args, { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } });
  t.equal(ran.status, 1, 'the run has failed');
  const ended: FileSummary[] = [];
  const failures: Failure[] = [];
  const { stream } = readTap({
    fileEnded: (file) => ended.push(file),
    failure: (failure) => failures.push(failure),
    skip: () => {},
    note: () => {},
  });
  stream.end(ran.stdout);
  t.strictSame(
    ended.map(({ file, passed, failed }) => ({ file, passed, failed })),
    [
      { file: named('passes'), passed: 3, failed: 0 },
      { file: named('fails'), passed: 0, failed: 1 },
      { file: named('crashes'), passed: 0, failed: 1 },
      { file: named('hangs'), passed: 0, failed: 1 },
      { file: named('loose'), passed: 1, failed: 0 },
    ],
  );
  const [wrong, crashed, hung] = failures;
  t.equal(wrong?.where, `${named('fails')} > inner > is two`);
  const { stack = '' } = (wrong?.diagnosis ?? {}) as { readonly stack?: string };
  t.match(inSources(stack, bundles), `(${named('fails')}:7:5)`, 'a place is that of the source');
  t.notMatch(stack, /@tapjs/, 'and tap’s own are left out');
  t.match(crashed?.diagnosis, { exitCode: 3 });
  t.match(hung?.where, /waits > timeout!$/);
});

t.test('places: only those in bundles are looked up', async (t) => {
  const text = 'at inner (/elsewhere/a.js:3:4) and dist/enactor.js:1:2, at node:internal/a:3:1';
  t.equal(inSources(text, t.testdir({ 'a.js': 'no map\n' })), text);
  t.equal(inSources(`${t.testdirName}/a.js:1:1`, t.testdirName), `${t.testdirName}/a.js:1:1`);
});
