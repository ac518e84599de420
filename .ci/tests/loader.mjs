/**
 * Reads a test file as one module, a bundle that is made now, where a file is run by itself: `npx tap`, or Node with register.mjs.
 *
 * Other modules are read here as Node would, and not by the loader below, which is tap's and sends each text to the main thread, where it
 * is measured line by line for a coverage that nobody asked for.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

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
  const { boxOf, bundled } = await import('./bundle.mjs');
  const box = url.endsWith(WHOLE) ? null : boxOf(await readFile(file, 'utf8'));
  return box === null ? bundled(file) : `import ${quoted(box)}; await import(${quoted(`${pathToFileURL(file)}${WHOLE}`)});`;
}

function quoted(text) {
  return JSON.stringify(`${text}`);
}
