/**
 * B55: what the CLI prints reaches its reader whole, or the exit code says that it did not. 600 pods, through slow pipes, into files, to
 * readers that leave early, to nobody, and to a full disk.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { load } from 'js-yaml';
import t from 'tap';
import { bigNode } from '../cli/big-node.ts';

t.setTimeout(240_000);
const DIST = resolve(process.env.ENACTOR_DIST ?? 'dist');
const ENACTOR = join(DIST, 'enactor.js');
const skip = existsSync(ENACTOR) ? false : `${ENACTOR} is not built: npm run build`;
if (skip !== false) t.comment(`NOT RUN: ${skip}`);

type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** A line of bash in which `$E` is the CLI; its environment is without what tap would load into every Node. */
function bash(line: string, env: Record<string, string>): Promise<Ran> {
  return new Promise((done) => {
    const all = { PATH: process.env.PATH ?? '', E: `${process.execPath} ${ENACTOR}`, ...env };
    execFile(
      '/usr/bin/env',
      [
        '-i',
        ...Object.entries(all).map(([key, value]) => `${key}=${value}`),
        'bash',
        '--norc',
        '--noprofile',
        '-c',
        line,
      ],
      (error, stdout, stderr) => {
        done({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
      },
    );
  });
}

/** Two at a time: the machine has other things to do. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all([worker(), worker()]);
}

const LISTINGS: readonly (readonly [command: string, form: string])[] = [
  ...['status', 'leases', 'actors', 'eni', 'journal --last 2500', 'mapping'].map((one) => [one, 'json'] as const),
  ...['leases', 'journal --last 2500'].map((one) => [one, 'text'] as const),
  ['leases', 'yaml'],
];

/** How long ago something was differs from run to run. */
const ageless = (text: string): string => text.replaceAll(/\d+ (s|min|h)\b/g, 'AGE').replaceAll(/ +/g, ' ');

t.test('B55: the output of 600 pods', { skip }, async (t) => {
  const node = await bigNode(t);
  const dir = mkdtempSync(join(tmpdir(), 'b55'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const env = { OUT: dir, S: `--debug-socket ${node.debugSocket}`, G: `--grpc-socket ${node.grpcSocket}` };

  await t.test('a slow pipe and a file get the same bytes, and JSON is whole', async (t) => {
    await eachOf(LISTINGS, async ([command, form]) => {
      const name = `${command.split(' ')[0]}-${form}`;
      const run = `$E ${command} ${command === 'mapping' ? '$G' : '$S'} -o ${form}`;
      const both = `${run} > $OUT/${name}.file && ${run} | (sleep 0.3; cat) > $OUT/${name}.pipe`;
      t.strictSame(await bash(`set -o pipefail; ${both}`, env), { code: 0, stdout: '', stderr: '' }, name);
      const read = (end: string): string => readFileSync(join(dir, `${name}.${end}`), 'utf8');
      const [file, pipe] = [read('file'), read('pipe')];
      t.equal(ageless(pipe) === ageless(file), true, `${name}: the same bytes, ${pipe.length} and ${file.length}`);
      if (form === 'json') JSON.parse(pipe);
      if (form === 'yaml') t.equal((load(pipe) as unknown[]).length, 600);
      if (['leases-json', 'status-json', 'journal-json'].includes(name))
        t.ok(pipe.length > 200_000, `${pipe.length} bytes`);
    });
  });

  await t.test('a reader that leaves early ends it without a word', async (t) => {
    const big = await bash('$E leases -o json $S | head -1; exit $PIPESTATUS', env);
    t.strictSame(big, { code: 141, stdout: '[\n', stderr: '' }, 'its exit code says that it did not deliver all');
    const live = await bash('$E events $S | head -1; exit $PIPESTATUS', env);
    t.match(live, { code: 141, stdout: /is there/, stderr: '' }, 'a stream ends too');
  });

  await t.test('to nobody, and to a full disk', async (t) => {
    const closed = await bash('$E leases $S >&-', env);
    t.equal(closed.stderr, '', 'no stack trace');
    const full = await bash('$E leases -o json $S > /dev/full', env);
    t.match(full, { code: 1, stderr: /^enactor: the output could not be written: ENOSPC/ });
  });

  await t.test('programs’ own help comes whole through a slow pipe', async (t) => {
    const daemon = await bash(`${process.execPath} ${DIST}/enactord.js --help | (sleep 0.3; cat) | tail -1`, env);
    t.match(daemon.stdout, /^Exit codes: .*70 could not go on\.$/m);
    const cli = await bash('$E --help | (sleep 0.3; cat) | tail -1', env);
    t.match(cli.stdout, /^Exit codes: .*141 the reader left\.$/m);
  });

  await t.test('the whole-screen view ends by a key, and leaves the terminal as it was', async (t) => {
    const screen = 'script -qec "stty cols 100 rows 30; $E watch $S" /dev/null';
    // The key is pressed once the view is there to take it.
    const seen = 'for try in $(seq 150); do grep -q "more lines" "$OUT" && break; sleep 0.1; done';
    const press = `(${seen}; printf q; sleep 5)`;
    const watched = `OUT=$(mktemp); ${press} | ${screen} | tee "$OUT"; code=\${PIPESTATUS[1]}; rm "$OUT"; exit $code`;
    const { code, stdout } = await bash(watched, env);
    t.equal(code, 0, stdout.slice(-300));
    t.ok(stdout.startsWith('\x1b[?1049h'), 'on the terminal’s second screen');
    t.match(stdout, /enactor watch.*serving/);
    t.match(stdout, /… \d+ more lines/, 'as much of 600 pods as there is room for');
    t.ok(stdout.trimEnd().endsWith('\x1b[?25h\x1b[?1049l'), 'cursor and first screen are there again');
  });

  await t.test('a query that fails half-way prints nothing that looks whole, and fails', async (t) => {
    node.failPages();
    const ran = await bash('$E journal -o json $S | cat; exit $PIPESTATUS', env);
    t.match(ran, { code: 1, stdout: '', stderr: /the second page failed/ });
  });
});
