/**
 * P12: only the thread that calls setns moves, and what is opened between entering and leaving stays there. A process that enters pods
 * while it serves leaves nothing of its own in any of them.
 */
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createConnection } from 'node:net';
import t from 'tap';
import { PodNamespace } from '../../src/adapters/datapath/pod-namespace.ts';
import { ChangeSocket } from '../../src/adapters/netlink/change-socket.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { SPEED } from './speed.ts';

t.setTimeout(300_000);
const skip = cannotMakeNamespaces();
/** 200 visits; in a soak each of another namespace. */
const NAMESPACES = SPEED === 1 ? 200 : 20;
const ROUNDS = 200 / NAMESPACES;

/** Sockets that user space has in a namespace. */
function socketsIn(namespace: TestNamespace): readonly string[] {
  return namespace.run(() =>
    ['tcp', 'tcp6', 'udp', 'udp6', 'raw', 'unix', 'netlink'].flatMap((kind) => {
      const [, ...lines] = readFileSync(`/proc/thread-self/net/${kind}`, 'utf8').trim().split('\n');
      // The kernel's own netlink sockets have no owner.
      const owned = kind === 'netlink' ? lines.filter((line) => line.split(/\s+/)[2] !== '0') : lines;
      return owned.map((line) => `${kind} ${line}`);
    }),
  );
}

t.test('P12: 200 visits to pods under live traffic leave no socket in any of them', { skip }, async (t) => {
  const pods = Array.from({ length: NAMESPACES }, (_, at) => new TestNamespace(t, `pod${at}`));
  const server = createServer((_, response) => response.end('ok'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  let busy = true;
  let done = 0;
  const traffic = [
    async () => await readFile('/proc/self/status'),
    async () => await lookup('localhost'),
    async () =>
      await new Promise((resolve, reject) =>
        get({ port, agent: false }, (response) => response.resume().on('end', resolve)).on('error', reject),
      ),
    async () =>
      await new Promise((resolve) => {
        const connection = createConnection(port, '127.0.0.1');
        connection.on('connect', () => {
          connection.destroy();
          resolve(null);
        });
      }),
  ].map(async (work) => {
    while (busy) {
      await work();
      done += 1;
    }
  });
  for (let round = 0; round < ROUNDS; round += 1)
    for (const pod of pods) {
      const visit = new PodNamespace(libc, pod.path);
      visit.netlink.links();
      pod.run(() => readFileSync('/proc/thread-self/net/dev'));
      visit.close();
      await new Promise((resolve) => setImmediate(resolve));
    }
  busy = false;
  await Promise.all(traffic);
  t.ok(done > 100, `${done} pieces of other work were done meanwhile`);
  for (const pod of pods) t.strictSame(socketsIn(pod), []);

  const [pod] = pods;
  if (pod === undefined) return;
  const stray = pod.run(() => new ChangeSocket(libc));
  t.match(socketsIn(pod), [/^netlink/], 'one that is there would be seen');
  stray.close();
  t.strictSame(socketsIn(pod), []);
});
