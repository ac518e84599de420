/** The port that whole networks reach: nothing but metrics and two probes, and no stranger can keep the kubelet's probes out. */
import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { listenAt, metricsServer } from '../../../src/adapters/http/metrics-server.ts';

async function serve(t: Test): Promise<number> {
  const server = metricsServer(
    () => null,
    async () => 'enactor_serving 0\n',
  );
  await listenAt(server, { host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const ask = (port: number, path: string, method = 'GET', localAddress = '127.0.0.1'): Promise<string> =>
  new Promise((resolve, reject) => {
    const call = get({ host: '127.0.0.1', port, path, method, localAddress, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve(`${response.statusCode} ${text.trim()}`));
    });
    call.on('error', reject);
  });

t.test('metrics port: metrics and the two probes, and nothing else', async (t) => {
  const port = await serve(t);
  t.equal(await ask(port, '/metrics'), '200 enactor_serving 0');
  t.equal(await ask(port, '/livez'), '200 ok');
  t.equal(await ask(port, '/readyz'), '503 not ready', 'without actors nobody gets an address');
  for (const path of ['/', '/v1/report', '/v1/health', '/livez/..', '//metrics'])
    t.match(await ask(port, path), /^404/, path);
  t.match(await ask(port, '/livez', 'POST'), /^404/);
});

t.test('metrics port: who keeps connections open keeps neither the node’s own probes nor others out', async (t) => {
  const port = await serve(t);
  const sockets = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const socket = connect({ host: '127.0.0.1', port, localAddress: `127.0.1.${1 + (index % 6)}` });
      t.teardown(() => socket.destroy());
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write('GET /metrics HTTP/1.1\r\n'); // and never goes on
      return socket;
    }),
  );
  const open = () => sockets.filter(({ closed, readableEnded }) => !closed && !readableEnded).length;
  for (let left = 100; open() > 16 && left > 0; left -= 1) await sleep(20);
  t.ok(open() <= 16, `${open()} of 60 are kept`);
  t.equal(await ask(port, '/livez'), '200 ok', 'the kubelet, which asks from the node itself');
  const [first] = sockets;
  for (const socket of sockets) if (socket !== first) socket.destroy();
  for (let left = 100; left > 0; left -= 1) {
    const told = await ask(port, '/metrics', 'GET', '127.0.2.1').catch(() => '');
    if (told !== '') break;
    await sleep(20);
  }
  t.equal(await ask(port, '/metrics', 'GET', '127.0.2.1'), '200 enactor_serving 0', 'Prometheus, once there is room');
});
