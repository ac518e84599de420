/** deploy/install.md, terway.md and operation.md: what they have somebody type is what `npm run e2e` types, and what they name is there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'tap';
import { NOT_TYPED, ON_NODE, OPERATION, PAGE, TERWAY } from '../e2e/page.ts';

const PATH = 'deploy/install.md';
const page = readFileSync(PATH, 'utf8');
const { blocks, commands } = typedIn(page);

/** `blocks`: of a shell, line by line; `commands`: those, and what stands in a sentence. */
function typedIn(text: string) {
  const lines = [...text.matchAll(/^ *```sh\n(.*?)^ *```/gms)].flatMap(([, block = '']) => block.split('\n'));
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, '').replaceAll(/`([^`\n]*)\n([^`\n]*)`/g, '`$1 $2`');
  const inline = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, one = '']) => one);
  const all = [...lines, ...inline].map((one) => one.replace(/ +#.*/, '').trim());
  return { blocks: lines, commands: all.filter((one) => one !== '') };
}

for (const [path, typed, notTyped] of [
  [PATH, PAGE, NOT_TYPED],
  ['deploy/terway.md', TERWAY, []],
  ['deploy/operation.md', OPERATION, ON_NODE.split('\n').map((line) => line.trim())],
] as const)
  test(`pages: each command for the cluster in ${path} is one that the e2e run types, or says that it does not`, async (t) => {
    const ofCluster = typedIn(readFileSync(path, 'utf8')).commands.filter((one) => /\bkubectl\s|^on_node /.test(one));
    const known: readonly string[] = [...Object.values(typed), ...notTyped];
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

test('install page: each kustomization that has an image is named where the image is', async (t) => {
  const found = readdirSync('deploy', { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('kustomization.yaml'),
  );
  const withImage = found.filter((path) => readFileSync(join('deploy', path), 'utf8').includes('\nimages:'));
  t.ok(withImage.length >= 3);
  for (const path of withImage) t.ok(page.includes(`\`deploy/${path}\``), path);
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
