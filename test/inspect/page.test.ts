/**
 * The inspector's page in a real browser, over the real daemon: a pod is created, and what it goes through is seen; the past can be looked at; nothing
 * is loaded from elsewhere, and what a pod is called is text.
 */
import '../lab/in-box.ts';

import { execFile, spawn } from 'node:child_process';
import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { call, type Machine, machine } from '../daemon/machine.ts';
import { Browser, chromium, type Tab } from './browser.ts';

t.setTimeout(200_000);
const ENACTOR = resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactor.js');
const MARKUP = '<img src=x onerror=window.pwned=1>';
const program = chromium();

const run = (...args: string[]) =>
  promisify(execFile)('env', ['-i', `PATH=${process.env.PATH}`, process.execPath, ENACTOR, ...args]);

/** `enactor inspect` as a process of its own: its links, as it prints them. */
function inspecting(t: Test, args: readonly string[]): { links: readonly string[]; link(): Promise<string> } {
  const links: string[] = [];
  const child = spawn('env', ['-i', `PATH=${process.env.PATH}`, process.execPath, ENACTOR, 'inspect', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    links.splice(0, links.length, ...(text.match(/http:\S+/g) ?? []));
  });
  t.teardown(() => {
    child.kill('SIGKILL');
    child.stdout.destroy();
  });
  const link = async (): Promise<string> => {
    const before = links.length;
    while (links.length === before || before === 0) {
      const [first] = links;
      if (first !== undefined && before === 0) return first;
      await new Promise((done) => setTimeout(done, 20));
    }
    return links.at(-1) ?? '';
  };
  return { links, link };
}

/** Text of a cell of an ENI's row by its state: how many there are. */
const cells = (state: string): string => `document.querySelectorAll('#enis .cell.${state}').length`;
const line = (path: string): string => `document.querySelector('#tree li[data-key="${path}"]')`;

async function opened(
  t: Test,
  here: Machine,
): Promise<{ tab: Tab; browser: Browser; link: string; links: readonly string[] }> {
  const { link, links } = inspecting(t, ['--debug-socket', here.paths.debugSocket]);
  const browser = Browser.start(program ?? '');
  t.teardown(() => browser.end());
  const first = await link();
  const tab = await browser.open(first);
  return { tab, browser, link: first, links };
}

t.test('page', { skip: program === null && 'no chromium here (Debian: chromium-headless-shell)' }, async (t) => {
  const here = await machine(t, { min_pool_size: 1, max_pool_size: 3, cool_down: '1m' });
  for (const name of ['web-1', 'web-2']) here.addPod(name);
  const daemon = here.start();
  await daemon.serving();
  const { tab, browser, link, links } = await opened(t, here);

  await t.test('a pod is created, and its lease and the ENI’s chart move', async (t) => {
    await tab.until('the node serves', `document.querySelector('#node-state').textContent === 'running.serving'`);
    await tab.until('the ENI is in use', `${line('node/eniFactory/eni:0')}?.innerText.includes('quiet')`);
    await tab.clickUntil(
      '#tree li[data-key="node/eniFactory/eni:0"]',
      'its chart is shown',
      `document.querySelector('#chart .state.active[data-path="inUse.resting.quiet"]')`,
    );
    await tab.eval(
      `window.lit = new Set(); new MutationObserver((all) => { for (const { target } of all) if (target.classList.contains('lit')) window.lit.add(target.dataset.from + ' > ' + target.dataset.to); }).observe(document.querySelector('#chart'), { subtree: true, attributeFilter: ['class'] })`,
    );
    t.equal(await tab.eval(cells('bound')), 0);
    for (const name of ['web-1', 'web-2']) t.equal((await call(here.paths.jsonSocket, 'AllocIP', name)).status, 200);
    await tab.until('two addresses are bound', `${cells('bound')} === 2`);
    await tab.until(
      'the lease is there',
      `${line('node/leases/lease:sandbox-web-1/eth0')}?.innerText.includes('bound')`,
    );
    await tab.until('a transition of the ENI has lit up', 'window.lit.size > 0');
    const lit = await tab.eval<string[]>('[...window.lit]');
    t.ok(
      lit.some((one) => one.includes('inUse')),
      lit.join(', '),
    );
    await tab.until('what was said is drawn', `document.querySelector('#messages').textContent.includes('ipResult')`);
    await tab.until('the history tells of it', `document.querySelector('#history').textContent.includes('bind')`);
  });

  await t.test('a pod is followed', async (t) => {
    await tab.press('/');
    await tab.type('web-2');
    await tab.eval(`document.querySelector('#follow-form').requestSubmit()`);
    await tab.until(
      'why it has its address',
      `document.querySelector('#follow-answer').textContent.startsWith('default/web-2 has ')`,
    );
    await tab.until('its stages', `document.querySelectorAll('#stages li').length >= 4`);
    t.equal(await tab.eval(`document.querySelectorAll('.cell.followed').length`), 1);
    t.equal(await tab.eval(`document.querySelector('.cell.followed').dataset.pod`), 'default/web-2');
    t.equal(await tab.eval(`document.querySelector('#chart-title').textContent`), 'web-2');
    await tab.until('only its messages', `document.querySelectorAll('#messages .row').length > 5`);
    t.equal(await tab.eval(`document.querySelector('#messages').textContent.includes('sandbox-web-1')`), false);
    await tab.press('Escape');
    await tab.until('nobody is followed', `document.querySelector('#follow').hidden`);
  });

  await t.test('time travel shows what was', async (t) => {
    await tab.press(' ');
    await tab.until('the past is shown', `document.body.classList.contains('past')`);
    t.equal(await tab.eval(cells('bound')), 2, 'paused at the end it is as it was');
    await tab.press('Home');
    await tab.until(
      'before the first input there is nothing',
      `${cells('bound')} === 0 && document.querySelectorAll('#enis .eni').length === 0`,
    );
    const inputs = await tab.eval<number>(`Number(document.querySelector('#slider').max)`);
    t.ok(inputs > 10, `${inputs} inputs`);
    const seen: string[] = [];
    for (let index = 1; index <= inputs; index += 1) {
      await tab.press('ArrowRight');
      await tab.until(`input ${index}`, `document.querySelector('#where').textContent.startsWith('input ${index} of')`);
      seen.push(
        await tab.eval(
          `document.querySelectorAll('#enis .cell:not(.room)').length + ' ' + ${cells('offered')} + ' ' + ${cells('bound')}`,
        ),
      );
    }
    const steps = seen.filter((one, index) => one !== seen[index - 1]);
    t.ok(
      steps.some((one) => / 1 0$| 2 0$/.test(one)),
      `an address was promised before it was bound: ${steps.join(', ')}`,
    );
    t.match(steps.at(-1), / 0 2$/);
    await call(here.paths.jsonSocket, 'ReleaseIP', 'web-1');
    await tab.press('l');
    await tab.until(
      'the present again, in which one has been freed since',
      `${cells('cooling')} === 1 && ${cells('bound')} === 1`,
    );
    t.equal(await tab.eval(`document.body.classList.contains('past')`), false);
  });

  await t.test('all of it by keys', async (t) => {
    const selected = `document.querySelector('#tree li[aria-selected="true"]').dataset.key`;
    const open = `document.querySelector('#help').open`;
    await tab.press('?');
    await tab.until('the keys are told', open);
    await tab.press('j');
    t.equal(await tab.eval(open), true, 'what lies beneath hears none of them');
    await tab.press('Escape');
    await tab.until('they are put away', `!${open}`);
    await tab.eval(`document.querySelector('#tree li[data-key="node"]').click()`);
    await tab.until('the first one', `${selected} === 'node'`);
    for (const [key, path] of [
      ['j', 'node/cloudKeeper'],
      ['j', 'node/eniFactory'],
      ['k', 'node/cloudKeeper'],
    ] as const) {
      await tab.press(key);
      await tab.until(`${key} leads to ${path}`, `${selected} === '${path}'`);
    }
    await tab.until('and its chart is shown', `document.querySelector('#chart-title').textContent === 'cloudKeeper'`);
    t.equal(await tab.eval('document.activeElement.dataset.key'), 'node/cloudKeeper', 'the focus goes along');
    await tab.press('4');
    await tab.until('messages alone', `document.querySelector('#tree-pane').offsetParent === null`);
    t.equal(await tab.eval(`document.querySelector('#messages-pane').offsetParent !== null`), true);
    await tab.press('Escape');
    await tab.until('all panes', `document.querySelector('#tree-pane').offsetParent !== null`);
    const theme = () => tab.eval<string>('getComputedStyle(document.body).backgroundColor');
    await tab.press('t');
    const light = await theme();
    await tab.press('t');
    t.not(await theme(), light, 'dark');
    await tab.press('t');
    await tab.eval(`document.querySelector('#enis .cell.bound').focus()`);
    await tab.press('Enter');
    await tab.until('an address leads to its pod', `!document.querySelector('#follow').hidden`);
    await tab.press('Escape');
  });

  await t.test('a support bundle opens in the same page', async (t) => {
    const file = join(t.testdir(), 'node-1.json.gz');
    await run('support', '--debug-socket', here.paths.debugSocket, '--out', file);
    const past = await browser.open(await inspecting(t, ['--bundle', file]).link());
    await past.until('its end is shown', `${cells('bound')} === 1`);
    t.equal(await past.eval(`document.querySelector('#source').textContent`), 'node-1.json.gz');
    t.equal(await past.eval(`document.querySelector('#pause').hidden`), true, 'there is no now to go to');
    await past.click('#to-start');
    await past.until('before the first input', `document.querySelectorAll('#enis .eni').length === 0`);
    await past.click('#step-on');
    await past.until('one on', `document.querySelector('#where').textContent.startsWith('input 1 of')`);
    await past.click('#to-end');
    await past.until('the end again', `${cells('bound')} === 1`);
    await past.clickUntil(
      '#tree li[data-key="node/eniFactory/eni:0"]',
      'an ENI’s context',
      `document.querySelector('#actor-context').textContent.includes('"slot": 0')`,
    );
    await past.until('its chart', `document.querySelector('#chart .state.active[data-path="inUse.resting.quiet"]')`);
    await past.click('#enis .cell.bound');
    await past.until(
      'whose it is',
      `document.querySelector('#follow-answer').textContent.match(/^default\\/web-2 .* on eni:0, bound$/)`,
    );
    await past.until('what was said about it', `document.querySelectorAll('#messages .row').length > 5`);
    t.strictSame(past.errors, []);
  });

  await t.test('so does a simulated run, life by life', async (t) => {
    const run = await browser.open(await inspecting(t, ['--simulation', '7', '--steps', '120']).link());
    await run.until('its end is shown', `document.querySelector('#where').textContent.startsWith('input ')`);
    t.match(await run.eval(`document.querySelector('#source').textContent`), /^seed 7: no violation$/);
    const lives = await run.eval<number>(`document.querySelector('#tapes').length`);
    t.ok(lives >= 2, `${lives} lives`);
    const shown = () => run.eval<string>(`document.querySelector('#where').textContent`);
    const first = await shown();
    await run.eval(
      `document.querySelector('#tapes').selectedIndex = 1; document.querySelector('#tapes').dispatchEvent(new Event('change'))`,
    );
    await run.until('another life', `document.querySelector('#where').textContent !== ${JSON.stringify(first)}`);
    await run.until('and its actors', `document.querySelectorAll('#tree li').length > 0`);
    t.strictSame(run.errors, []);
  });

  await t.test('what a pod is called is text', async (t) => {
    const names = { K8sPodName: MARKUP, K8sPodNamespace: '"><script>window.pwned=2</script>' };
    await call(here.paths.jsonSocket, 'AllocIP', 'web-1', names);
    await tab.until('it is told of', `document.body.textContent.includes('onerror')`);
    await tab.eval(`document.querySelector('#pending button, .cell[data-pod*="onerror"]').click()`);
    await tab.until('it is followed', `document.querySelector('#followed-pod').textContent.includes('<img src=x')`);
    t.equal(await tab.eval('window.pwned === undefined'), true);
    t.equal(await tab.eval(`document.querySelectorAll('img').length`), 0);
    await tab.press('Escape');
  });

  await t.test('nothing comes from elsewhere, and the page has met no fault', async (t) => {
    const { origin } = new URL(link);
    t.strictSame(
      tab.asked.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:')),
      [],
    );
    t.strictSame(tab.errors, []);
    t.equal(await tab.eval(`fetch('http://localhost:1/').then(() => 'went out', () => 'refused')`), 'refused');
  });

  await t.test('a link works once; others get nothing', async (t) => {
    const second = await browser.open(link);
    await second.until('it says so', `!document.querySelector('#notice').hidden`);
    t.equal(await second.eval(`document.querySelectorAll('#tree li').length`), 0);
    const third = await browser.open(links.at(-1) ?? '');
    await third.until('the link that was printed then', `document.querySelectorAll('#tree li').length > 0`);
    const { host, port } = new URL(link);
    t.equal(await status(port, '/api/past', { host }), 401);
    t.equal(await status(port, '/api/past', { host, authorization: 'Bearer x' }), 401);
    t.equal(await status(port, '/', { host: `evil.example:${port}` }), 421, 'a name that points here (DNS rebinding)');
    t.equal(await status(port, '/', { host, origin: 'http://evil.example' }), 403);
    t.equal(await status(port, '/', { host }), 200);
  });
});

function status(port: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end();
  });
}
