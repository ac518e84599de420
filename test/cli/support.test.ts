/** A bundle taken after a planted failure replays to the same failure. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { debugServer } from '../../src/adapters/http/debug-server.ts';
import { bindUnixSocket } from '../../src/adapters/http/unix-socket.ts';
import { LogTap } from '../../src/adapters/logging/log-tap.ts';
import { reportLines } from '../../src/cli/node-status.ts';
import { differences, gathered } from '../../src/cli/support.ts';
import { bounded } from '../../src/core/bounded.ts';
import { parseBundle, whyNoReplay } from '../../src/core/support-bundle.ts';
import { plain } from '../../src/lab/view/paint.ts';
import { eventually, type OneNode, oneNode } from '../actors/one-node.ts';

async function socketOf(t: Test, lab: OneNode): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 's'));
  const tap = new LogTap(() => {});
  tap.write('{"level":"warn","accessKeySecret":"S3CRET","msg":"a line"}\n');
  const server = debugServer(() => lab.node.introspection, { logTap: tap });
  const bound = await bindUnixSocket(server, join(dir, 'd'));
  t.teardown(async () => {
    bound.close();
    server.closeAllConnections();
    await lab.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  return join(dir, 'd');
}

t.test('support: a bundle taken after a planted failure replays to the same failure', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 2, holdDownMs: 60_000 }, instanceType: 'ecs.g6.large' });
  const socket = await socketOf(t, lab);
  await lab.serving();
  await lab.add('a');
  await lab.refuse('AssignPrivateIpAddresses', 'InvalidVSwitchId.IpNotEnough', 50);
  const gone = new AbortController();
  const waits = Promise.all(['b', 'c', 'd'].map((name) => lab.add(name, Date.now() + 90_000, gone.signal)));
  waits.catch(() => {});
  await eventually('pods wait for the hold', () => lab.report().waiting.length > 0);
  const bundle = await gathered(socket, Date.now());
  const text = JSON.stringify(bundle);
  t.notMatch(text, /S3CRET/);
  t.match(text, /a line/);
  t.equal(whyNoReplay(bundle), null);
  t.ok(bundle.whys.length > 0, 'it tells why pods wait');
  t.match(bundle.report.enis[0]?.lastFailure, /IpNotEnough/);

  const cloud = {
    credentials: { source: 'config', from: 'access_key', untilMs: null, failure: null },
    ...{ clockSkewMs: 0, resting: [], securityGroups: { lookedMs: 1, findings: [], failure: null } },
  };
  const told = bounded({ ...bundle.report, cloud }) as unknown as typeof bundle.report;
  t.match(
    reportLines(told, Date.now(), plain).join('\n'),
    /credentials from access_key \(config\)/,
    'and can be shown',
  );

  const read = parseBundle(text) as unknown as typeof bundle;
  t.strictSame(await differences(read), [], 'the very same, failures included');

  const failed = read.inputs.findIndex(({ event }) => event.type.startsWith('xstate.error.actor'));
  t.ok(failed > 0, 'the failure is an input');
  const tampered = { ...read, inputs: read.inputs.filter((_, index) => index !== failed) };
  t.ok((await differences(tampered)).length > 0, 'without the failure it comes to something else');
  t.match(whyNoReplay(tampered), /inputs are missing|ends before the report/);
  t.match(whyNoReplay({ ...read, inputs: read.inputs.slice(3) }), /no longer reaches back to the start/);
  gone.abort();
});

t.test(
  'support: --out - is the bundle and nothing else, and where nothing can be written that way is told',
  async (t) => {
    const lab = await oneNode({});
    const socket = await socketOf(t, lab);
    await lab.serving();
    const dir = mkdtempSync(join(tmpdir(), 'o'));
    t.teardown(() => rmSync(dir, { recursive: true, force: true }));
    const support = (...words: readonly string[]) => {
      const program = ['--import=tsx', resolve('src/cli/main.ts'), 'support', '--debug-socket', socket, ...words];
      const child = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
      return Promise.all([buffer(child.stdout), text(child.stderr), once(child, 'exit')]);
    };
    const [bytes, said, [code]] = await support('--out', '-');
    t.equal(code, 0, said);
    const bundle = parseBundle(gunzipSync(bytes).toString()) as unknown as { readonly life: { settings: object } };
    t.match(bundle.life.settings, { nodeName: 'node-1' });
    t.match(said, /enactor replay FILE runs it again/);

    const [printed, why, [failed]] = await support('--out', join(dir, 'nowhere', 'bundle.json.gz'));
    t.strictSame([printed.length, failed], [0, 1]);
    t.match(why, /ENOENT.*enactor support --out - > FILE/);
  },
);

t.test('support: what is no bundle is told', async (t) => {
  t.throws(() => parseBundle('{"a":1}'), { message: 'is no support bundle' });
  t.throws(() => parseBundle('{"enactorSupport":2}'), { message: /of version 2; this program reads 1/ });
  t.throws(() => parseBundle('nonsense'), SyntaxError);
});
