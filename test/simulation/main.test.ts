import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import t, { type Test } from 'tap';

/** The program as `npm run build` makes it, without the other programs. */
async function program(t: Test): Promise<(...args: string[]) => ReturnType<typeof spawnSync>> {
  const outfile = join(t.testdir(), 'simulate.mjs');
  const banner =
    "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";
  await build({
    entryPoints: ['src/simulation/main.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'silent',
    banner: { js: banner },
  });
  return (...args) => spawnSync(process.execPath, [outfile, ...args], { encoding: 'utf8', timeout: 120_000 });
}

t.test(
  'simulate: on its own threads it does as many seeds as asked, and --json is one line with what was covered',
  async (t) => {
    const run = await program(t);
    const { status, stdout, stderr } = run('--seeds', '3', '--seed', '1', '--steps', '200', '--json');
    t.equal(status, 0, `${stderr}`);
    const told = JSON.parse(`${stdout}`) as Record<string, unknown>;
    t.strictSame(Object.keys(told), [
      'seeds',
      'steps',
      'stepsMin',
      'crashed',
      'crashes',
      'checks',
      'combinations',
      'violations',
      'statesCovered',
      'transitionsCovered',
    ]);
    t.ok(Number(told.stepsMin) >= 200, 'every seed makes as many steps as asked');
    t.equal(told.seeds, 3);
    t.strictSame(told.violations, []);
    t.ok(Number(told.steps) > 200);
    t.ok(Number(told.checks) > 200);
    const { covered, of, missing } = told.transitionsCovered as { covered: number; of: number; missing: string[] };
    t.ok(covered > 0 && covered <= of);
    t.equal(missing.length, of - covered);
    t.match(`${stderr}`.trimEnd().split('\n').at(-1), /^seeds 1 to 3: no violation; \d+ steps, \d+ or more in each/);
    const again = JSON.parse(`${run('--seeds', '3', '--seed', '1', '--steps', '200', '--json').stdout}`);
    t.equal(again.steps, told.steps, 'the same seeds take the same steps');
  },
);

t.test('simulate: what is no number or no hazard is refused with its name', async (t) => {
  const run = await program(t);
  t.match(run('--seeds', 'many'), { status: 2, stderr: /--seeds many is not a whole number/ });
  t.match(run('--hazards', 'earthquake'), { status: 2, stderr: /--hazards earthquake is none of outOfBand/ });
  t.match(run('--what'), { status: 2, stderr: /simulate: / });
});
