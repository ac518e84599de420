/**
 * Makes one module of a test file and all it imports. Reading 300 modules one by one, each through a loader in a thread of its own, costs a
 * process about a second of CPU before its first test, and there are 280 of them.
 *
 * The bundle stands for the TypeScript it was made of: `import.meta` keeps each module's own address, functions keep their names, and the
 * source map leads back. What must be one and the same in a process (tap) or is found by its place on disk (native code) stays outside.
 *
 * `node .ci/tests/bundle.mjs FOLDER FILE...` bundles the files into the folder, at once, so that each source is read once. JavaScript, since
 * Node 20 must be able to load it before anything that reads TypeScript is there.
 */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, stop } from 'esbuild';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

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

const options = (files) => ({
  absWorkingDir: ROOT,
  entryPoints: files,
  outbase: ROOT,
  outdir: ROOT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  packages: 'external',
  define: {
    'import.meta.url': '__ownUrl',
    'import.meta.dirname': '__ownDirname',
    'import.meta.filename': '__ownFilename',
  },
  plugins: [ownAddresses],
  keepNames: true,
  legalComments: 'none',
  logLevel: 'warning',
});

/** The bundle's text, with its map inside. esbuild's helper ends, since tests look at what runs beside them. */
export async function bundled(file) {
  const { outputFiles } = await build({ ...options([file]), sourcemap: 'inline', sourcesContent: false, write: false });
  await stop();
  return outputFiles[0].text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [outdir, ...files] = process.argv.slice(2);
  await build({ ...options([...files, 'test/lab/in-box.ts']), outdir, sourcemap: 'linked', sourcesContent: false });
}
