/**
 * The plugin as one executable: what it starts with is what every pod waits for, so `node:fs`, the dearest thing it would load, is replaced
 * (src/adapters/netlink/files-bun.ts), and nothing is compiled to machine code for a process of ten milliseconds.
 *
 * Run by Bun. `bun .ci/plugin-build.ts linux-arm64` makes dist/enactor-cni-arm64.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';

const FILES = resolve('src/adapters/netlink/files-bun.ts');
/** Thresholds of JavaScriptCore's compilers, so many times as high. */
const JIT_POLICY = 100;

/** The part of Bun's bundler that is used here; Bun's own types would clash with Node's. Source: bun.sh/docs/bundler. */
type Loading = {
  onLoad(
    which: { readonly filter: RegExp },
    load: (file: { readonly path: string }) => Promise<{ readonly loader: 'ts'; readonly contents: string }>,
  ): void;
};
type Bundler = {
  build(options: Record<string, unknown>): Promise<{ readonly success: boolean; readonly logs: readonly unknown[] }>;
};
declare const Bun: Bundler;

export async function buildPlugin(outfile: string, target?: string): Promise<void> {
  const { success, logs } = await Bun.build({
    entrypoints: ['src/plugin/main.ts'],
    minify: true,
    // Bytecode is made for the processor that makes it.
    bytecode: target === undefined,
    format: 'esm',
    external: ['koffi'],
    compile: {
      outfile,
      ...(target === undefined ? {} : { target }),
      // Whoever runs the plugin chooses its directory: what lies there (.env, bunfig.toml) is nothing to it.
      autoloadDotenv: false,
      autoloadBunfig: false,
      jitPolicy: JIT_POLICY,
    },
    plugins: [
      {
        name: 'files by libc',
        // Names of Bun's own are none to resolve for plugins: the import itself is written otherwise.
        setup: (build: Loading) =>
          build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
            const text = await readFile(path, 'utf8');
            return {
              loader: 'ts',
              contents: path === FILES ? text : text.replaceAll("from 'node:fs';", `from '${FILES}';`),
            };
          }),
      },
    ],
  });
  if (!success) throw new Error(`the plugin was not built: ${logs.join('\n')}`);
}

if (process.argv[1] === import.meta.filename) {
  const [, , target] = process.argv;
  await buildPlugin(
    `dist/enactor-cni${target === undefined ? '' : `-${target.split('-').at(-1)}`}`,
    target === undefined ? undefined : `bun-${target}`,
  );
}
