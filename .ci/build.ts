/**
 * Fills dist/: the programs bundled by esbuild (a bundle loads in half the time of the loose files) and the plugin compiled
 * by Bun into one executable. Run by Bun, which reads TypeScript as it is.
 *
 * Everything is made aside and then renamed into place, so that what runs from dist/ meanwhile never finds a file missing.
 */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { type BuildOptions, build } from 'esbuild';
import { buildDaemon, compileDaemon } from './daemon-build.ts';
import { NATIVE_PACKAGES } from './image/recipe.ts';
import { pageBuild } from './page-build.ts';
import { buildPlugin } from './plugin-build.ts';

const next = `dist/.next-${process.pid}`;
const programs = { enactor: 'src/cli/main.ts', simulate: 'src/simulation/main.ts' };
// CommonJS packages inside the bundle call require(), which an ES module does not have.
const banner =
  "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

const shared: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  sourcemap: 'linked',
  external: [...NATIVE_PACKAGES],
  legalComments: 'none',
  logLevel: 'warning',
  banner: { js: banner },
};

mkdirSync(next, { recursive: true });
try {
  for (const [name, source] of Object.entries(programs)) {
    await build({ ...shared, entryPoints: [source], outfile: `${next}/${name}.js` });
    chmodSync(`${next}/${name}.js`, 0o755);
  }
  await buildDaemon(next, shared);
  chmodSync(`${next}/enactord.js`, 0o755);
  await build(pageBuild(`${next}/inspect.js`));
  for (const asset of ['inspect.html', 'inspect.css']) copyFileSync(`src/inspect/page/${asset}`, `${next}/${asset}`);
  for (const proto of ['grpc/rpc.proto', 'grpc/node.proto', 'grpc/tracing.proto', 'device-plugin/deviceplugin.proto'])
    copyFileSync(`src/adapters/${proto}`, `${next}/${proto.split('/')[1]}`);

  await buildPlugin(`${next}/enactor-cni`);

  const made = readdirSync(next);
  for (const file of made) renameSync(`${next}/${file}`, `dist/${file}`);
  compileDaemon('dist');
  console.log('built: %s', made.map((file) => `dist/${file}`).join(' '));
} finally {
  rmSync(next, { recursive: true, force: true });
}
