/** How the inspector's page is bundled, by the build and while it is written. */
import type { BuildOptions } from 'esbuild';

export const pageBuild = (outfile: string): BuildOptions => ({
  entryPoints: ['src/inspect/page/main.ts'],
  outfile,
  bundle: true,
  platform: 'browser',
  format: 'esm',
  target: 'es2022',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
});
