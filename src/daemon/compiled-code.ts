/** How files of compiled code are named, and where a daemon keeps them (boot.ts). */
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** `--compile-into DIRECTORY`, of the build alone: leaves there what has been compiled by the time the process ends. */
export const COMPILE_INTO = '--compile-into';

/** As in flags.ts, which cannot be asked before the daemon is compiled. */
const DATA_DIR_FLAG = '--data-dir';
export const DEFAULT_DATA_DIR = '/var/lib/cni/enactor';

const PREFIX = 'enactord-';
const SUFFIX = '.compiled';

/** A script, a processor and a version of Node have a file of their own. */
export function compiledName(scriptDigest: string): string {
  return `${PREFIX}${scriptDigest}-${process.version}-${process.arch}${SUFFIX}`;
}

export function isCompiledName(name: string): boolean {
  return name.startsWith(PREFIX) && name.endsWith(SUFFIX);
}

/** The last one counts, as with every flag. */
export function dataDirIn(argv: readonly string[]): string {
  const given = argv.flatMap((word, at) => {
    if (word === DATA_DIR_FLAG) return [argv[at + 1] ?? ''];
    return word.startsWith(`${DATA_DIR_FLAG}=`) ? [word.slice(DATA_DIR_FLAG.length + 1)] : [];
  });
  return given.at(-1) || DEFAULT_DATA_DIR;
}

/** Whole or not at all; of other versions nothing stays. Never throws: a directory that cannot be written costs the next start some time. */
export function keepCompiled(
  directory: string,
  name: string,
  script: { readonly createCachedData: () => Uint8Array },
): void {
  try {
    for (const old of readdirSync(directory)) if (isCompiledName(old)) rmSync(`${directory}/${old}`);
    const unfinished = `${directory}/.${name}`;
    writeFileSync(unfinished, script.createCachedData(), { mode: 0o600, flush: true });
    renameSync(unfinished, `${directory}/${name}`);
  } catch {
    // See above.
  }
}
