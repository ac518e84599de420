/** What others named is shown and not obeyed: no terminal and no log is steered by it. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { jsonLog } from '../../src/adapters/logging/json-log.ts';
import { visible } from '../../src/lab/view/visible.ts';
import { pluginLog } from '../../src/plugin/plugin-log.ts';

const HOSTILE = 'web\u001b]0;owned\u0007\u001b[2J\u001b[1;31mred\u009b31m\r\u202edrow\u0000\u007f';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const STEERS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const CONTROLS = /[\u0000-\u001f]/;

t.test(
  'hostile text: a terminal shows control characters by their pictures, and our colours as they are',
  async (t) => {
    const shown = visible(HOSTILE);
    t.notMatch(shown.replaceAll('\u001b[1;31m', ''), STEERS);
    t.match(shown, '␛]0;owned␇␛[2J');
    t.equal(visible('\u001b[32mok\u001b[0m  ✓ 日本'), '\u001b[32mok\u001b[0m  ✓ 日本');
  },
);

t.test('hostile text: a line of a log is one line of JSON, whatever is in it', async (t) => {
  const lines: string[] = [];
  const log = jsonLog('test', 'info', (text) => void lines.push(text));
  log.info({ pod: `${HOSTILE}\n{"level":50,"msg":"forged"}`, __proto__x: 1 }, `told of ${HOSTILE}\n`);
  t.equal(lines.join('').trimEnd().split('\n').length, 1);
  t.notMatch(lines.join('').trimEnd(), CONTROLS);
  t.equal(JSON.parse(lines.join('')).pod.split('\n').length, 2, 'and nothing of it is lost');

  const dir = t.testdir();
  mkdirSync(join(dir, 'log'));
  const logFile = join(dir, 'log', 'cni.log');
  pluginLog({ logFile, debug: true }, () => 0).warn({ pod: `${HOSTILE}\nforged` }, `${HOSTILE}\nforged`);
  const written = readFileSync(logFile, 'utf8').trimEnd();
  t.equal(written.split('\n').length, 1);
  t.notMatch(written, CONTROLS);
});
