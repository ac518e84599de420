/**
 * Places in bundles of tests (.ci/tests/bundle.mjs) as places in the sources they were made of: done here, when something failed, and not by Node
 * in each process, which would read every map for it.
 */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';

const PLACE = /(?:file:\/\/)?([^\s()'"`]+\.js):(\d+)(?::(\d+))?/g;
const maps = new Map<string, SourceMap | null>();

/** The text with every place in a bundle below the folder `bundles` as FILE:LINE:COLUMN of its source, relative to here. Others stay as they are. */
export function inSources(text: string, bundles: string): string {
  return text.replace(PLACE, (place, path: string, line: string, column = '1') => {
    const file = resolve(path);
    if (!file.startsWith(`${resolve(bundles)}/`)) return place;
    const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !('originalSource' in entry)) return place;
    const source = relative('.', resolve(dirname(file), entry.originalSource));
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

/** By the comment that a bundle ends with; null where there is none. */
function mapOf(file: string): SourceMap | null {
  const known = maps.get(file);
  if (known !== undefined) return known;
  let map: SourceMap | null = null;
  try {
    const [, name] = /\/\/# sourceMappingURL=(\S+)\s*$/.exec(readFileSync(file, 'utf8')) ?? [];
    if (name !== undefined) map = new SourceMap(JSON.parse(readFileSync(resolve(dirname(file), name), 'utf8')));
  } catch {} // a bundle that is gone tells no less than it did
  maps.set(file, map);
  return map;
}
