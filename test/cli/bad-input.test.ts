/** Whatever is wrong with what a command is given or whom it asks: a sentence that names it, an exit code, and never a stack. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { PROGRAM } from './lab-process.ts';

const dir = mkdtempSync(join(tmpdir(), 'bad'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));

type Ended = { readonly code: number | null; readonly text: string };

/** Without credentials, and without anything to read. */
function run(command: string, args: readonly string[]): Promise<Ended> {
  const {
    ALIBABA_CLOUD_ACCESS_KEY_ID: _,
    ALIBABA_CLOUD_ACCESS_KEY_SECRET: __,
    NODE_OPTIONS: ___,
    ...env
  } = process.env;
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        text += chunk;
      });
    }
    child.once('close', (code) => resolve({ code, text }));
  });
}
const enactor = (line: string) => run(process.execPath, [PROGRAM, ...line.split(' ')]);

const fileOf = (name: string, bytes: string | Buffer): string => {
  writeFileSync(join(dir, name), bytes);
  return join(dir, name);
};

async function sentence(t: Test, line: string, code: number, says: RegExp): Promise<void> {
  const ended = await enactor(line);
  t.equal(ended.code, code, `${line}: ${ended.text}`);
  t.match(ended.text, says, line);
  t.notMatch(ended.text, /^\s+at /m, `${line}: no stack`);
}

t.test('bad input: no daemon, no credentials, no cloud, nonsense', async (t) => {
  const nobody = 'http://127.0.0.1:1';
  for (const [line, code, says] of [
    ['status --debug-socket /nowhere/d', 3, /no daemon answers at \/nowhere\/d/],
    ['events --debug-socket /nowhere/d', 3, /no daemon answers at \/nowhere\/d/],
    ['list --grpc-socket /nowhere/g', 3, /no daemon answers at \/nowhere\/g/],
    [`metadata --metadata-url ${nobody}`, 3, /127\.0\.0\.1:1/],
    [`eni sweep --cluster c --metadata-url ${nobody}`, 2, /say --region: no metadata service answers/],
    [
      `eni sweep --cluster c --region r --metadata-url ${nobody}`,
      3,
      /^enactor: credentials: RAM role .*127\.0\.0\.1:1/,
    ],
    ['eni sweep --cluster c --region r --between soon', 2, /--between <duration>.*such as 10m/],
    ['metadata --metadata-url soon', 2, /--metadata-url <url>.*a URL, such as/],
    ['journal --since soon', 2, /--since: a whole number/],
    ['why a/b/c', 2, /a\/b\/c is no pod/],
    ['plan --pods many', 2, /--pods/],
    ['charts nope', 1, /no chart nope; there are/],
    ['terway-records --db /nowhere/r', 3, /\/nowhere\/r: there is no such file/],
    ['lab cloud --listen 127.0.0.1:0 --profile /nowhere/p', 1, /\/nowhere\/p/],
    [`lab cloud --listen 127.0.0.1:0 --topology ${fileOf('a.json', '{"a":1}')}`, 2, /--topology .*a\.json: .+/],
    [`lab cloud --listen 127.0.0.1:0 --topology ${fileOf('b.json', '{')}`, 2, /--topology .*b\.json: .+JSON/],
  ] as const)
    await sentence(t, line, code, says);
  t.match((await enactor('eni sweep --help')).text, /second \(default: 10m\)/, 'as it is written');
});

t.test('bad input: what answers at the socket is no daemon', async (t) => {
  let body = '';
  const server = createServer((_, response) => void response.end(body));
  const socket = join(dir, 's');
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  t.teardown(() => server.close());
  for (body of ['{}', '<html>'])
    for (const command of ['status', 'why p', 'leases', 'config', 'support', 'gc', 'inspect', 'journal', 'actors'])
      await sentence(
        t,
        `${command} --debug-socket ${socket}`,
        3,
        new RegExp(`no daemon answers at ${socket}: .*no daemon`),
      );
  await sentence(t, `events --debug-socket ${socket}`, 1, /^enactor: /);
});

t.test('replay: says which file, and where in it', async (t) => {
  const life = '{"enactorSupport":1,"life":{}}';
  for (const [file, says] of [
    [join(dir, 'none'), /none: there is no such file/],
    [fileOf('empty', ''), /empty: it is empty/],
    [fileOf('text', 'hello'), /text: line 1: no JSON/],
    [fileOf('cut', '{\n "enactorSupport": 1,\n "life"'), /cut: line 3: no JSON/],
    [fileOf('cut.gz', gzipSync(life).subarray(0, 20)), /cut\.gz: it is cut short/],
    [fileOf('later', '{"enactorSupport":2}'), /later: it is a support bundle of version 2; this program reads 1/],
    [fileOf('other', '{"a":1}'), /other: it is no support bundle/],
    [fileOf('part', life), /part: it is no whole support bundle: it lacks takenAtMs, report, inputs, whys/],
  ] as const) {
    await sentence(t, `replay ${file}`, 3, says);
    await sentence(t, `inspect --bundle ${file}`, 3, says);
  }
});

t.test('test:only: says what it has not found', async (t) => {
  const { code, text } = await run('node_modules/.bin/bun', ['.ci/test.ts', 'test/nope']);
  t.equal(code, 2);
  t.match(text, /^test\/nope: there is no such file or folder/);
});
