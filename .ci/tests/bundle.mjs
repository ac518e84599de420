/**
 * Makes one module of a test file and all it imports. Reading 300 modules one by one, each through a loader in a thread of its own, costs a
 * process about a second of CPU before its first test, and there are 300 of them.
 *
 * The bundle stands for the TypeScript it was made of: `import.meta` keeps each module's own address, functions keep their names, and the
 * source map leads back. What is found by its place on disk (native code) stays outside, and so does what must be one and the same in a process
 * (tap), which in a run of many files is a bundle itself: 400 modules otherwise.
 *
 * `node .ci/tests/bundle.mjs FOLDER FILE...` bundles the files into the folder, at once, so that each source is read once: FOLDER/test/x.test.js
 * is what Node can run as it is. JavaScript, since Node 20 must be able to load it before anything that reads TypeScript is there.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, stop } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const GOES_INTO_A_BOX = /^import '(\.{1,2}\/(?:[^']+\/)?in-box\.ts)';$/m;

/**
 * The module by which a test goes into a box (test/lab/in-box.ts), as the test names it, or null. Such a test does nothing else outside of
 * the box: there only that module is to be read, and the rest when the box has been entered.
 */
export function boxOf(text) {
  return GOES_INTO_A_BOX.exec(text)?.[1] ?? null;
}

/** `import.meta` of a bundle is the bundle's: each module that asks gets its own as constants, on its first line to keep the numbers. */
const ownAddresses = {
  name: 'own addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes('import.meta')) return { contents: text, loader: 'ts' };
      const own = { __ownUrl: pathToFileURL(path).href, __ownDirname: dirname(path), __ownFilename: path };
      const lines = Object.entries(own).map(([name, value]) => `const ${name} = ${JSON.stringify(value)};`);
      return { contents: `${lines.join('')}${text}`, loader: 'ts' };
    });
  },
};

/** tap is the module of this path. */
const tapAt = (path) => ({
  name: 'tap at its place',
  setup({ onResolve }) {
    onResolve({ filter: /^tap$/ }, () => ({ path, external: true }));
  },
});

const shared = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  legalComments: 'none',
  logLevel: 'warning',
};
const options = (files, plugins = []) => ({
  ...shared,
  entryPoints: files,
  outbase: ROOT,
  outdir: ROOT,
  packages: 'external',
  define: {
    'import.meta.url': '__ownUrl',
    'import.meta.dirname': '__ownDirname',
    'import.meta.filename': '__ownFilename',
  },
  plugins: [ownAddresses, ...plugins],
  keepNames: true,
  sourcesContent: false,
});

/** The bundle's text, with its map inside. esbuild's helper ends, since tests look at what runs beside them. */
export async function bundled(file) {
  const { outputFiles } = await build({ ...options([file]), sourcemap: 'inline', write: false });
  await stop();
  return outputFiles[0].text;
}

/** tap names its tests and folders for the program that runs: for it that is the TypeScript. */
function tapBundle(into, outfile) {
  const js = [
    "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    `if (process.argv[1]?.startsWith(${JSON.stringify(`${into}/`)})) {`,
    `  process.argv[1] = ${JSON.stringify(ROOT)} + process.argv[1].slice(${into.length + 1}).replace(/\\.js$/, '.ts');`,
    '}',
  ].join('\n');
  return build({ ...shared, entryPoints: ['tap'], outfile, banner: { js } });
}

/** In place of the bundle, which becomes `x.test.whole.js`: the box, and then that. */
function enterFirst(bundle, box) {
  const whole = bundle.replace(/\.js$/, '.whole.js');
  renameSync(bundle, whole);
  const [first, then] = [box.replace(/\.ts$/, '.js'), `./${basename(whole)}`].map((path) => JSON.stringify(path));
  writeFileSync(bundle, `import ${first};\nawait import(${then});\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, ...files] = process.argv.slice(2);
  const outdir = resolve(folder);
  const tap = `${outdir}/node_modules/@tapjs/tap.js`; // a place that tap leaves out of stacks
  const all = { ...options([...files, 'test/lab/in-box.ts'], [tapAt(tap)]), outdir, sourcemap: 'linked' };
  await Promise.all([tapBundle(outdir, tap), build(all)]);
  for (const file of files) {
    const box = boxOf(readFileSync(resolve(ROOT, file), 'utf8'));
    if (box !== null) enterFirst(`${outdir}/${file.replace(/\.ts$/, '.js')}`, box);
  }
}
