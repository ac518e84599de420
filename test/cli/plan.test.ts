import { spawnSync } from 'node:child_process';
import t from 'tap';

const enactor = (...args: string[]) =>
  spawnSync('node', ['dist/enactor.js', ...args], { encoding: 'utf8', timeout: 60_000 });

t.test('plan: says whether it fits by its exit code, and what would', async (t) => {
  const well = enactor(
    'plan',
    '--type',
    'ecs.g7.xlarge',
    '--pods',
    '30',
    '--churn',
    '0.5/s',
    '--nodes',
    '7',
    '-o',
    'json',
  );
  t.equal(well.status, 0, well.stderr);
  const plan = JSON.parse(well.stdout);
  t.match(plan, { capacity: 45, cooling: 15, fits: true });
  t.strictSame(plan.otherTypes, []);
  t.equal(plan.addresses, plan.addressesPerNode * 7);
  const large = enactor('plan', '--type', 'ecs.g7.xlarge', '--pods', '60', '--churn', '20/min');
  t.equal(large.status, 1);
  t.match(
    large.stdout,
    /60 pods and 10 addresses that rest do not fit into 45 addresses \(3 ENIs beside the primary one/,
  );
  t.match(large.stdout, /^What fits: 35 pods with so many coming and going\.$/m);
  t.match(large.stdout, /^ecs\.g7\.4xlarge +200 +7 x 30$/m);
  t.notMatch(large.stdout, /pool_size|vSwitch/, 'no sizes for what cannot be');
  t.notMatch(large.stdout, /lab\./, 'what we have invented nobody can buy');
  const none = enactor('plan', '--type', 'ecs.g7.xlarge', '--pods', '100000');
  t.match(none.stdout, /^None of the types that are known here is large enough\.$/m);
});

t.test('plan: bad input names the option', async (t) => {
  for (const [args, said] of [
    [['--type', 'ecs.none', '--pods', '3'], /ecs\.none is not among the \d+ types.*--enis and --per-eni/],
    [['--type', 'ecs.g7.large', '--pods', '3', '--churn', '20'], /--churn.*20\/min/],
  ] as const) {
    const { status, stderr } = enactor('plan', ...args);
    t.not(status, 0);
    t.match(stderr, said);
  }
});

t.test('simulate: the command passes its options on, and the exit code back', async (t) => {
  const run = enactor('simulate', '--seeds', '1', '--seed', '5', '--steps', '100', '--json');
  t.equal(run.status, 0, run.stderr);
  t.strictSame(JSON.parse(run.stdout).violations, []);
  const help = enactor('simulate', '--help');
  t.equal(help.status, 0);
  t.match(help.stdout, /--seeds[\s\S]*--trace/);
});
