/**
 * What `enactord` starts with: the daemon itself is one script beside this one (enactord.cjs), and V8 need not compile that again which it compiled before. More
 * than a third of the processor time until the daemon's first line goes with that, on a small node a second.
 *
 * What was compiled lies beside the script, as the build left it, or in the data directory, where a daemon that has served for a while leaves what it has used: an
 * image holds no such file, since it would be another with each build. It is named by the script's digest, and V8 refuses by itself what another version
 * of it made or other options: then, and where there is none, the source is compiled. Never fails for it.
 * Source: nodejs.org/api/vm.html, new vm.Script, cachedData.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';
import { COMPILE_INTO, compiledName, dataDirIn, keepCompiled } from './compiled-code.ts';

/** Of enactord.cjs, by .ci/daemon-build.ts. */
declare const SCRIPT_DIGEST: string;

/** By then all that a node's everyday wants has been compiled. */
const KEPT_AFTER_MS = 120_000;

const path = fileURLToPath(new URL('./enactord.cjs', import.meta.url));
// All of it is ASCII (.ci/daemon-build.ts): a byte a letter, in memory too.
const source = `(function (require, __url) {${readFileSync(path, 'latin1')}\n})`;
const name = compiledName(SCRIPT_DIGEST);
const dataDir = dataDirIn(process.argv);

const script =
  compiledBefore(fileURLToPath(new URL(`./${name}`, import.meta.url))) ?? compiledBefore(`${dataDir}/${name}`);
const whole = script ?? scriptWith(undefined);
if (script === null) setTimeout(() => keepCompiled(dataDir, name, whole), KEPT_AFTER_MS).unref();
const at = process.argv.indexOf(COMPILE_INTO);
if (at > 0) {
  const [, into = ''] = process.argv.splice(at, 2);
  process.on('exit', () => writeFileSync(`${into}/${name}`, whole.createCachedData()));
}
whole.runInThisContext()(createRequire(import.meta.url), import.meta.url);

function scriptWith(cachedData: Buffer | undefined): Script {
  return new Script(source, {
    filename: path,
    ...(cachedData === undefined ? {} : { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
}

function compiledBefore(file: string): Script | null {
  try {
    const made = scriptWith(readFileSync(file));
    return made.cachedDataRejected === true ? null : made;
  } catch {
    return null;
  }
}
