/** Which version a node runs: every program tells it. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

t.test('version: the programs tell the package’s', async (t) => {
  for (const program of ['dist/enactor.js', 'dist/enactord.js'])
    t.equal(execFileSync(process.execPath, [program, '--version']).toString(), `${version}\n`, program);
});
