/**
 * B39: lists of rules and routes that others change while they are read. The kernel says that a dump was interrupted; whoever trusts it all the same takes
 * what is there for missing and makes it twice, or takes what it did not see for gone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { cannotRunPlugin, pluginBench, startPlugin } from '../plugin/plugin-process.ts';
import { SharedHost } from './shared-host.ts';
import { SPEED } from './speed.ts';
import { unruly } from './unruly-libc.ts';

const skip = cannotMakeNamespaces();
/** The case's figures; in CI so much less. */
const PAIRS = SPEED === 1 ? 300 : 30;
const FOR_MS = SPEED === 1 ? 300_000 : 500;
const READINGS = SPEED === 1 ? 20_000 : 250;
const PLUGIN_PAIRS = SPEED === 1 ? 300 : 5;
/** More than one datagram holds, so that there is a while in which a list can change under its reader. */
const FOREIGN_RULES = 1_500;

/** Somebody who adds and removes 50 rules and 200 routes a second in tables that are not ours, about addresses that are not ours. */
async function somebody(t: Test, host: TestNamespace): Promise<ChildProcess> {
  const dir = mkdtempSync(join(tmpdir(), 'enactor-b39-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const PARTS = 10;
  for (let part = 0; part < PARTS; part += 1) {
    const lines = ['add', 'del'].flatMap((verb) => [
      ...Array.from({ length: 5 }, (_, at) => `rule ${verb} from 10.9.${part}.${at} priority 700 table 99`),
      ...Array.from({ length: 20 }, (_, at) => `route ${verb} 10.8.${part}.${at}/32 dev lo table 99`),
    ]);
    // A little apart, so that there are changes at all times.
    const [adding, removing] = [lines.slice(0, 25), lines.slice(25)];
    writeFileSync(join(dir, `${part}a`), `${adding.join('\n')}\n`);
    writeFileSync(join(dir, `${part}b`), `${removing.join('\n')}\n`);
  }
  const parts = Array.from({ length: PARTS }, (_, part) => part).join(' ');
  const loop = `for p in ${parts}; do ip -batch $p"a"; sleep 0.05; ip -batch $p"b"; sleep 0.05; done`;
  return runs(t, host, `cd ${dir}; echo; while :; do ${loop}; done`);
}

/** A shell that goes on until the test ends; resolves once it has printed. */
async function runs(t: Test, host: TestNamespace, script: string): Promise<ChildProcess> {
  const child = spawn('ip', ['netns', 'exec', host.name, 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

function crowd(host: TestNamespace): void {
  const lines = Array.from(
    { length: FOREIGN_RULES },
    (_, at) => `rule add from 10.7.${at >> 8}.${at & 255} priority 1000 table 98`,
  );
  host.batch(lines);
}

test('B39: a list of rules is whole although others change theirs as fast as they can, of which the kernel says nothing', {
  skip,
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  crowd(host);
  const batch = ['add', 'del'].flatMap((verb) =>
    Array.from({ length: 5 }, (_, at) => `rule ${verb} from 10.9.0.${at} priority 700 table 99`),
  );
  await runs(t, host, `echo; while :; do printf '${batch.join('\\n')}\\n' | ip -batch -; done`);
  const netlink = host.run(() => new Netlink(libc));
  t.teardown(() => netlink.close());
  let short = 0;
  for (let reading = 0; reading < READINGS; reading += 1) {
    if (netlink.rules(4).filter(({ table }) => table === 98).length !== FOREIGN_RULES) short += 1;
  }
  // One of 20,000 was seen; what is made of such a list is below.
  t.ok(short <= READINGS / 2_000, `${short} of ${READINGS} readings are short`);
});

test('B39: while others change rules and routes no ADD or DEL fails, no rule comes twice, and nothing is “repaired”', {
  skip,
}, async (t) => {
  const host = await SharedHost.make(t, libc);
  crowd(host.netns);
  const living = [10, 11, 12].map((at) => host.pod(t, at));
  for (const pod of living) host.attach(pod);
  const coming = host.pod(t, 20);
  const other = await somebody(t, host.netns);
  const beganMs = performance.now();
  const enough = (pairs: number) => pairs >= PAIRS && performance.now() - beganMs >= FOR_MS;
  let pairs = 0;
  while (!enough(pairs)) {
    pairs += 1;
    host.attach(coming);
    const whole = host.verify(coming);
    if (whole !== null) t.fail(`pair ${pairs}: CHECK misses ${whole}`);
    const both = await host.keep([...living, coming]);
    if (both.drifts.length > 0) t.fail(`pair ${pairs}: repaired ${JSON.stringify(both.drifts)}`);
    if (pairs % 10 === 1) t.equal(host.rulesOf(coming).length, 4, `pair ${pairs}: a pair of rules for each family`);
    host.detach(coming);
    const without = await host.keep(living, [coming]);
    if (without.drifts.length > 0) t.fail(`pair ${pairs}, after DEL: repaired ${JSON.stringify(without.drifts)}`);
    if (pairs % 10 === 1) t.strictSame(host.rulesOf(coming), [], `pair ${pairs}: nothing after DEL`);
  }
  t.equal(other.exitCode, null, 'all the while');
  for (const pod of living) t.equal(host.rulesOf(pod).length, 4, `${pod.name} has its rules`);
});

test('B39: the plugin as a runtime calls it, beside somebody who changes rules and routes', {
  skip: cannotRunPlugin(),
}, async (t) => {
  const host = new TestNamespace(t, 'host');
  crowd(host);
  await somebody(t, host);
  const pod = new TestNamespace(t, 'pod');
  const { env, conf } = await pluginBench(t, pod);
  for (let pair = 0; pair < PLUGIN_PAIRS; pair += 1) {
    const ran = await startPlugin(host, { env: env('ADD'), stdin: conf() });
    t.equal(ran.exitCode, 0, ran.stdout);
    const ip = `192.168.${(10 + pair) >> 8}.${(10 + pair) & 255}`;
    const rules = () =>
      host
        .ip('rule')
        .split('\n')
        .filter((line) => line.split(/\s+/).includes(ip));
    t.equal(rules().length, 2, `${ip}: one pair`);
    const deleted = await startPlugin(host, { env: env('DEL'), stdin: conf() });
    t.equal(deleted.exitCode, 0, deleted.stdout);
    t.strictSame(rules(), [], `${ip}: none after DEL`);
  }
});

test('B39: rules that were passed over are found by the kernel to be there: none comes twice, and nothing is “repaired”', {
  skip,
}, async (t) => {
  const kernel = unruly(libc);
  const host = await SharedHost.make(t, kernel);
  const living = host.pod(t, 10);
  host.attach(living);
  const before = host.netns.state();
  kernel.begin(() => 'overlooked');
  t.strictSame((await host.keep([living])).drifts, []);
  kernel.begin(() => 'arrives');
  t.equal(host.netns.state(), before);
  t.equal(host.rulesOf(living).length, 4, 'a pair of rules for each family');
});

test('B39: a reading that was interrupted is read anew; lists that never hold still fail ADD, DEL and repair, and change nothing', {
  skip,
}, async (t) => {
  const kernel = unruly(libc);
  const host = await SharedHost.make(t, kernel);
  const [living, coming] = [host.pod(t, 10), host.pod(t, 11)];
  host.attach(living);
  let interrupted = 0;
  kernel.begin(({ sent, isDump }) => {
    if (!isDump || sent % 3 === 0) return 'arrives';
    interrupted += 1;
    return 'interrupted';
  });
  host.attach(coming);
  t.equal(host.verify(coming), null);
  t.strictSame((await host.keep([living, coming])).drifts, []);
  host.detach(coming);
  t.strictSame((await host.keep([living], [coming])).drifts, []);
  t.ok(interrupted > 10, `${interrupted} datagrams of interrupted dumps`);

  kernel.begin(() => 'arrives');
  const before = host.netns.state();
  kernel.begin(({ isDump }) => (isDump ? 'interrupted' : 'arrives'));
  t.throws(() => host.attach(coming), { code: 'EINTR', message: /changed during each of 10 readings/ });
  t.throws(() => host.detach(living), { code: 'EINTR' });
  await t.rejects(host.keep([living]), { code: 'device', message: /changed during each of 10 readings/ });
  await t.rejects(host.keep([], [living]), { code: 'device' }, 'and nothing is taken for a leftover');
  kernel.begin(() => 'arrives');
  t.equal(host.netns.state(), before);
  t.equal(host.verify(living), null);
  host.attach(coming);
  t.equal(host.verify(coming), null, 'ADD works once they hold still');
});
