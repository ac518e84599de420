/**
 * What `enactord` starts with: the daemon itself is one script beside this one (enactord.cjs), and V8 need not compile that again which it compiled before. More
 * than a third of the processor time until the daemon's first line goes with that, on a small node a second.
 *
 * What was compiled lies in the data directory, where a daemon leaves what it has used, after two minutes or when it is told to end; or beside the script, as
 * the build left it, which knows of nothing that serving wants. An image holds no such file, since it would be another with each build. It is named by the script's digest, and V8 refuses by itself what another version
 * of it made or other options: then, and where there is none, the source is compiled. Never fails for it.
 * Source: nodejs.org/api/vm.html, new vm.Script, cachedData.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { constants, Script } from 'node:vm';
import { COMPILE_INTO, compiledName, dataDirIn, keepCompiled } from './compiled-code.ts';

/** Of enactord.cjs, by .ci/daemon-build.ts. */
declare const SCRIPT_DIGEST: string;

/** By then all that a node's everyday wants has been compiled. */
const KEPT_AFTER_MS = 120_000;

// What only a start needs is kept by keepCompiled() for the next one, and what an ADD needs is not to be compiled anew after each rest (memory-at-rest.ts):
// functions that some collections have not seen called would be dropped. Here, since code compiled under other flags is not taken.
setFlagsFromString('--no-flush-bytecode');

const path = fileURLToPath(new URL('./enactord.cjs', import.meta.url));
// All of it is ASCII (.ci/daemon-build.ts): a byte a letter, in memory too.
const source = `(function (require, __url) {${readFileSync(path, 'latin1')}\n})`;
const name = compiledName(SCRIPT_DIGEST);
const dataDir = dataDirIn(process.argv);

const kept = compiledBefore(`${dataDir}/${name}`);
const script = kept ?? compiledBefore(fileURLToPath(new URL(`./${name}`, import.meta.url)));
const whole = script ?? scriptWith(undefined);
const at = process.argv.indexOf(COMPILE_INTO);
if (at > 0) {
  const [, into = ''] = process.argv.splice(at, 2);
  process.on('exit', () => writeFileSync(`${into}/${name}`, whole.createCachedData()));
}
whole.runInThisContext()(createRequire(import.meta.url), import.meta.url);
if (kept === null) {
  const keep = once(() => keepCompiled(dataDir, name, whole));
  setTimeout(keep, KEPT_AFTER_MS).unref();
  // The daemon listens too, and ends with 0 when all went well.
  process.once('SIGTERM', () => process.once('exit', (code) => code === 0 && keep()));
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}

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
