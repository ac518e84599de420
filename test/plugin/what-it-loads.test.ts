import { build } from 'esbuild';
import { test } from 'tap';

test('plugin: with each start nothing of the runtime is loaded but its way to libc and node:fs, which the build replaces', async (t) => {
  const { metafile } = await build({
    entryPoints: ['src/plugin/main.ts'],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    external: ['bun:ffi', 'koffi'],
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const atOnce = imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path);
  // What a module imports that is itself imported late counts too: the plugin is one file.
  t.strictSame([...new Set(atOnce)].sort(), ['bun:ffi', 'node:fs']);
  t.ok(
    imports.some(({ kind, path }) => kind === 'dynamic-import' && path === 'node:http2'),
    'HTTP/2 when it is called for',
  );
});
