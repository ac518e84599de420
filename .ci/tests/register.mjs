/**
 * For `node --import`, in each test's process: TypeScript is read as bundles, and what a test starts is started as in life.
 *
 * tap would load its recorder into every Node process that a test starts, to follow coverage there: it reads and parses the program's source
 * map of 10 to 15 MB, and makes a start of `enactor` cost 2.1 s of CPU in place of 0.4.
 *
 * A run that measures coverage keeps the recorder, and wants each source by itself, which tsx gives; so does a file with a line
 * `// bundle: no, ...`.
 */
import { readFileSync } from 'node:fs';
import { createRequire, register } from 'node:module';

const measured = process.env.ENACTOR_COVERAGE !== undefined;
const loose = measured || /^\/\/ bundle: no\b/m.test(readFileSync(process.argv[1] ?? '/dev/null', 'utf8'));

if (!measured) createRequire(import.meta.url)('process-on-spawn').removeAllListeners();
if (loose) await import('tsx');
else register('./loader.mjs', import.meta.url);
