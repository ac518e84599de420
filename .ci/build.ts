/**
 * Fills dist/: the programs bundled by esbuild (a bundle loads in half the time of the loose files) and the plugin compiled
 * by Bun into one executable. Run by Bun, which reads TypeScript as it is.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const native = ['koffi', 'level', 'classic-level'];

rmSync('dist', { recursive: true, force: true });
mkdirSync('dist', { recursive: true });

const programs = Object.entries({
  enactord: 'src/daemon/main.ts',
  enactor: 'src/cli/main.ts',
}).filter(([, source]) => existsSync(source));

for (const [name, source] of programs) {
  await build({
    entryPoints: [source],
    outfile: `dist/${name}.js`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    sourcemap: 'linked',
    external: native,
    loader: { '.proto': 'text' },
    legalComments: 'none',
    logLevel: 'warning',
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  });
  chmodSync(`dist/${name}.js`, 0o755);
}

if (existsSync('src/adapters/grpc/rpc.proto')) copyFileSync('src/adapters/grpc/rpc.proto', 'dist/rpc.proto');

if (existsSync('src/plugin/main.ts')) {
  execFileSync(
    process.execPath,
    [
      'build',
      '--compile',
      '--minify',
      '--bytecode',
      '--external',
      'koffi',
      'src/plugin/main.ts',
      '--outfile',
      'dist/enactor-cni',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
}
console.log(
  'built: %s',
  [...programs.map(([name]) => `dist/${name}.js`), 'dist/enactor-cni', 'dist/rpc.proto'].filter(existsSync).join(' '),
);
