/** deploy/install.md: what it has somebody type is what `npm run e2e` types, and what it names is there. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'tap';
import { NOT_TYPED, PAGE } from '../e2e/page.ts';

const PATH = 'deploy/install.md';
const page = readFileSync(PATH, 'utf8');
/** Blocks of a shell, line by line, and what stands in a sentence. */
const blocks = [...page.matchAll(/^ *```sh\n(.*?)^ *```/gms)].flatMap(([, text = '']) => text.split('\n'));
const inline = [...page.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text);
const commands = [...blocks, ...inline].map((one) => one.replace(/ +#.*/, '').trim()).filter((one) => one !== '');
const ofCluster = commands.filter((one) => /\bkubectl\s/.test(one));

test('install page: each command for the cluster is one that the e2e run types, or says that it does not', async (t) => {
  const known: readonly string[] = [...Object.values(PAGE), ...NOT_TYPED];
  t.strictSame(
    ofCluster.filter((one) => !known.includes(one)),
    [],
  );
  t.strictSame(
    known.filter((one) => !ofCluster.includes(one)),
    [],
    'and none is typed that the page does not have',
  );
});

test('install page: scripts, folders and files that it names are there', async (t) => {
  const { scripts, bin } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<'scripts' | 'bin', object>;
  const named = (pattern: RegExp) => commands.flatMap((one) => [...one.matchAll(pattern)].map(([, name = '']) => name));
  const run = named(/npm run (\S+)/g);
  t.ok(run.includes('image') && run.includes('build'));
  t.strictSame(
    run.filter((one) => !(one in scripts)),
    [],
  );
  t.strictSame(
    named(/npx (\S+)/g).filter((one) => !(one in bin)),
    [],
  );
  const folders = named(/-k (\S+)/g);
  t.ok(folders.length > 4);
  t.strictSame(
    folders.filter((one) => !existsSync(join(one, 'kustomization.yaml'))),
    [],
  );
  const links = [...page.matchAll(/\]\(([^)#]+)/g)].map(([, to = '']) => join(dirname(PATH), to));
  t.strictSame(
    links.filter((one) => !existsSync(one)),
    [],
  );
  const overlays = [...page.matchAll(/^\| `(overlays\/\S+)`/gm)].map(([, to = '']) => join(dirname(PATH), to));
  t.equal(overlays.length, 4);
  t.strictSame(
    overlays.filter((one) => !existsSync(one)),
    [],
  );
});

test('install page: a command of enactor that stands in no pod is called as it can be called in the tree', async (t) => {
  t.strictSame(
    blocks.filter((one) => /^\s*enactor\s/.test(one)),
    [],
  );
});
