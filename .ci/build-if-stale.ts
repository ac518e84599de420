/** Builds when a source, a dependency or the build itself is newer than what dist/ holds; says nothing when there is nothing to do. */
import { readdirSync, statSync } from 'node:fs';

const results = ['dist/enactord.js', 'dist/enactord.cjs', 'dist/enactor.js', 'dist/enactor-cni'];
const sources = [
  'src',
  'actors',
  'statecharts',
  '.ci/build.ts',
  '.ci/plugin-build.ts',
  '.ci/daemon-build.ts',
  'package-lock.json',
];

const changedMs = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const below = (path: string): string[] =>
  statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => `${path}/${name}`)
    : [path];

const newestSourceMs = Math.max(...sources.flatMap(below).map(changedMs));
const oldestResultMs = Math.min(...results.map(changedMs));
if (newestSourceMs > oldestResultMs) await import('./build.ts');
