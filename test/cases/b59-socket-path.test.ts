/** B59: a unix socket path of more than 107 bytes would be cut in silence; the plugin refuses it by name. (The daemon and the CLI have their own tests.) */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { FakeDaemon } from '../plugin/fake-daemon.ts';
import { cannotRunPlugin, pluginBench, startPlugin } from '../plugin/plugin-process.ts';

const skip = cannotRunPlugin();

/** A path below `directory` of exactly so many bytes; `sign` may take several. */
function pathOf(directory: string, bytes: number, sign = 'x'): string {
  const rest = bytes - Buffer.byteLength(directory) - 1;
  const many = Math.floor(rest / Buffer.byteLength(sign));
  return join(directory, sign.repeat(many) + 'y'.repeat(rest - many * Buffer.byteLength(sign)));
}

test('B59: up to 107 bytes work end to end, also when fewer characters', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const { directory, conf, env } = await pluginBench(t, null);
  for (const [bytes, sign] of [
    [100, 'x'],
    [107, 'x'],
    [107, 'ö'],
  ] as const) {
    const pod = new TestNamespace(t, 'pod');
    const daemonSocket = pathOf(directory, bytes, sign);
    t.equal(Buffer.byteLength(daemonSocket), bytes);
    const daemon = new FakeDaemon(daemonSocket);
    await daemon.listen();
    const given = { env: env('ADD', { CNI_NETNS: pod.path }), stdin: conf({ daemonSocket }) };
    const ran = await startPlugin(host, given);
    t.equal(ran.exitCode, 0, ran.stdout);
    t.equal((await startPlugin(host, { ...given, env: env('DEL', { CNI_NETNS: pod.path }) })).exitCode, 0);
    await daemon.close();
  }
});

test('B59: beyond, every verb refuses at once, naming path and limit, and makes no file', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { directory, conf, env, daemon } = await pluginBench(t, pod);
  const empty = join(directory, 'empty');
  mkdirSync(empty);
  for (const [bytes, sign] of [
    [108, 'x'],
    [109, 'x'],
    [200, 'x'],
    [108, 'ö'],
  ] as const) {
    const daemonSocket = pathOf(empty, bytes, sign);
    for (const command of ['ADD', 'CHECK', 'DEL']) {
      const ran = await startPlugin(host, { env: env(command), stdin: conf({ daemonSocket, dataDir: empty }) });
      t.equal(ran.exitCode, 1);
      const { code, msg } = ran.json();
      t.equal(code, 7);
      t.ok(String(msg).includes(daemonSocket) && /the limit is 107/.test(String(msg)), String(msg));
    }
  }
  t.strictSame(readdirSync(empty), []);
  t.strictSame(daemon.calls, []);
});

test('B59: a daemon on a path cut to 107 bytes is not taken for the one that was meant', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  const { directory, conf, env } = await pluginBench(t, pod);
  const daemonSocket = pathOf(directory, 140);
  const other = new FakeDaemon(daemonSocket.slice(0, 107));
  await other.listen();
  t.teardown(() => other.close());
  t.equal((await startPlugin(host, { env: env('ADD'), stdin: conf({ daemonSocket }) })).exitCode, 1);
  t.strictSame(other.calls, []);
});
