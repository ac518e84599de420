import '../in-box.ts';

import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import t from 'tap';
import { prepareBox } from '../../../src/lab/box/inside-box.ts';
import { listenInside, openDoor } from '../../../src/lab/guest/door.ts';
import { Guest, METADATA_IP } from '../../../src/lab/guest/guest.ts';

const { runDir } = prepareBox();
const GET = `fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t), e => process.stdout.write('no: ' + e.cause?.code))`;

t.test('guest: metadata answers at its address inside, and nowhere else', async (t) => {
  const [one, two] = ['one', 'two'].map((name) => Guest.create(name, `i-${name}`, `${runDir}/${name}`));
  if (one === undefined || two === undefined) throw new Error('two guests were made');
  const server = createServer((_, response) => response.end('metadata of one'));
  await listenInside(one.netns, server, 80);
  t.teardown(async () => {
    server.close();
    await Promise.all([one.remove(), two.remove()]);
  });
  t.equal(await get(one, `http://${METADATA_IP}/`), 'metadata of one');
  t.equal(await get(two, `http://${METADATA_IP}/`), 'no: ECONNREFUSED');
});

t.test('guest: a door leads to a server of another namespace', async (t) => {
  const guest = Guest.create('three', 'i-3', `${runDir}/three`);
  const server = createServer((_, response) => response.end('from outside'));
  await new Promise<void>((resolve) => server.listen(`${runDir}/outside.sock`, resolve));
  t.teardown(async () => {
    server.close();
    await guest.remove();
  });
  const door = await openDoor(guest.netns, 6443, { path: `${runDir}/outside.sock` });
  t.equal(await get(guest, 'http://127.0.0.1:6443/'), 'from outside');
  await door.close();
  t.equal(await get(guest, 'http://127.0.0.1:6443/'), 'no: ECONNREFUSED');
});

/** Asynchronously, since the answer comes from this very process. */
async function get(guest: Guest, url: string): Promise<string> {
  const { command, args } = guest.netns.command(process.execPath, ['-e', GET, url]);
  return (await promisify(execFile)(command, args)).stdout;
}
