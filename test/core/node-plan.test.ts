import t from 'tap';
import { nodePlan, type PlanWanted, usableAddresses } from '../../src/core/node-plan.ts';
import { marksOf, type PoolMarks } from '../../src/core/pool-marks.ts';

const g7xlarge = { enis: 4, ipv4PerEni: 15, ipv6PerEni: 15 };
const wanted: PlanWanted = {
  ...{ type: g7xlarge, pods: 30, churnPerMinute: 20, burst: 1, dual: false, nodes: 1, coolDownMs: 30_000 },
};

t.test('plan: of an ENI all addresses are pods’, of the primary one none', async (t) => {
  t.match(nodePlan(wanted), { eniMax: 3, capacity: 45, fits: true, held: 30, cooling: 10, enis: 3 });
  t.match(nodePlan({ ...wanted, pods: 36 }), { fits: false, cooling: 10 }, 'what rests is nobody’s for a while');
  t.match(nodePlan({ ...wanted, pods: 45, churnPerMinute: 0 }), { fits: true, minPool: 0, addressesPerNode: 46 });
  t.match(nodePlan({ ...wanted, type: { enis: 1, ipv4PerEni: 1, ipv6PerEni: 0 } }), {
    capacity: 0,
    fits: false,
    podsMax: 0,
  });
});

t.test('plan: in dual stack an ENI serves as many pods as it has pairs', async (t) => {
  const type = { enis: 4, ipv4PerEni: 10, ipv6PerEni: 1 };
  t.match(nodePlan({ ...wanted, type, dual: true }), { capacity: 3, ipv6Limits: true });
  t.match(nodePlan({ ...wanted, type, dual: false }), { capacity: 30, ipv6Limits: false });
});

t.test('plan: the vSwitch named is the smallest that holds them all', async (t) => {
  t.equal(usableAddresses(24), 252);
  for (const nodes of [1, 3, 5, 6, 40, 1_300, 1_500]) {
    const plan = nodePlan({ ...wanted, nodes });
    if (!plan.fits) throw new Error('30 pods fit');
    const { addresses, prefix } = plan;
    if (prefix === null) t.ok(addresses > usableAddresses(16));
    else {
      t.ok(usableAddresses(prefix) >= addresses);
      t.ok(prefix === 29 || usableAddresses(prefix + 1) < addresses, `${nodes} nodes, /${prefix}`);
    }
  }
});

t.test('plan: of a node that cannot be there are no sizes, but what does fit', async (t) => {
  const plan = nodePlan({ ...wanted, pods: 60 });
  t.strictSame(plan, {
    ...{ eniMax: 3, perEni: 15, capacity: 45, podsMax: 35, held: 60, cooling: 10, ipv6Limits: false, fits: false },
  });
  t.equal(nodePlan({ ...wanted, pods: plan.podsMax }).fits, true);
  t.equal(nodePlan({ ...wanted, pods: plan.podsMax + 1 }).fits, false);
});

t.test('plan: a node takes the water marks as they are said, can reach them, and they serve the burst', async (t) => {
  let fitting = 0;
  for (const pods of [1, 10, 30, 35, 44, 45, 200])
    for (const churnPerMinute of [0, 1, 20, 300])
      for (const burst of [1, 5, 40]) {
        const plan = nodePlan({ ...wanted, pods, churnPerMinute, burst });
        if (!plan.fits) continue;
        fitting += 1;
        const { minPool, maxPool, capacity } = plan;
        const what = `${pods} pods, ${churnPerMinute}/min, ${burst} at once`;
        const marks: PoolMarks = { minIdle: minPool, maxIdle: maxPool, minEnis: 0, warmUpSize: 0 };
        const view = { capacity, ipv4PerEni: 15, held: pods, warming: false, demand: null };
        t.strictSame(marksOf(marks, view), { minIdle: minPool, maxIdle: maxPool, why: 'min_pool_size' }, what);
        t.ok(pods + maxPool <= capacity, `${what}: beside its pods the node has ${maxPool} more`);
        if (capacity - pods >= burst) t.ok(minPool >= burst, 'what comes at once lies ready');
      }
  t.ok(fitting > 30, `${fitting} cases`);
});
