/** Where the built programs are: beside this file when it is part of one, else in the repository's dist. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Programs = {
  /** The daemon, run by Node. */
  readonly enactord: string;
  /** The directory of the plugin, as CNI_PATH names it. */
  readonly cniDir: string;
};

export const PLUGIN_NAME = 'enactor-cni';

/** Throws when they were not built, saying how to. */
export function findPrograms(): Programs {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    for (const dir of [at, join(at, 'dist')]) {
      const enactord = join(dir, 'enactord.js');
      if (existsSync(enactord) && existsSync(join(dir, PLUGIN_NAME))) return { enactord, cniDir: dir };
    }
    if (dirname(at) === at) throw new Error('enactord.js and enactor-cni are not built yet: npm run build');
  }
}
