/**
 * Reads a test file as one module: the bundle of this run when there is one (ENACTOR_BUNDLES names the folder), else one that is made now.
 *
 * A file that first goes into a box (test/lab/in-box.ts) does nothing else outside of it: there, only that is read, and the rest when the
 * box has been entered.
 *
 * Other modules are read here as Node would, and not by the loader below, which is tap's and sends each text to the main thread, where it
 * is measured line by line for a coverage that nobody asked for.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const GOES_INTO_A_BOX = /^import '(\.{1,2}\/(?:[^']+\/)?in-box\.ts)';$/m;
const WHOLE = '?whole';

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:')) return nextLoad(url, context);
  if (/\.ts(\?|$)/.test(url)) return { format: 'module', shortCircuit: true, source: await sourceOf(url) };
  if (context.format === 'module') return { format: 'module', shortCircuit: true, source: await readFile(new URL(url)) };
  // No source: require() reads it.
  if (context.format === 'commonjs') return { format: 'commonjs', shortCircuit: true, source: null };
  return nextLoad(url, context);
}

async function sourceOf(url) {
  const file = fileURLToPath(url);
  const box = url.endsWith(WHOLE) ? null : GOES_INTO_A_BOX.exec(await readFile(file, 'utf8'));
  if (box !== null) return `import ${quoted(box[1])}; await import(${quoted(`${pathToFileURL(file)}${WHOLE}`)});`;
  const folder = process.env.ENACTOR_BUNDLES;
  const made = folder === undefined ? null : `${folder}/${relative(ROOT, file).replace(/\.ts$/, '.js')}`;
  return made !== null && existsSync(made)
    ? `import ${quoted(pathToFileURL(made))};`
    : (await import('./bundle.mjs')).bundled(file);
}

function quoted(text) {
  return JSON.stringify(`${text}`);
}
