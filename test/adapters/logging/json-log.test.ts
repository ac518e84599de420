import t from 'tap';
import { jsonLog } from '../../../src/adapters/logging/json-log.ts';

t.test('log: fields first, the part named, below the level nothing', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = jsonLog('enactord', 'info', (line) => lines.push(JSON.parse(line)));
  log.debug({ a: 1 }, 'unheard');
  log.info({ pod: 'ns/p' }, 'address bound');
  log.part('cloud').warn({ err: new Error('boom') }, 'call failed');
  t.match(lines, [
    { level: 'info', program: 'enactord', pod: 'ns/p', msg: 'address bound' },
    { level: 'warn', part: 'cloud', msg: 'call failed', err: { message: 'boom', type: 'Error' } },
  ]);
});

t.test('log: secrets are masked wherever they hide', async (t) => {
  let text = '';
  const log = jsonLog('enactord', 'debug', (line) => {
    text += line;
  });
  log.info(
    { access_secret: 'TOPSECRET', config: { access_secret: 'TOPSECRET', deeper: { accessKeySecret: 'TOPSECRET' } } },
    'x',
  );
  t.notMatch(text, /TOPSECRET/);
  t.match(text, /\*{6}/);
});
