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
    enis: 0,
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
    const { addresses, prefix } = nodePlan({ ...wanted, nodes });
    if (prefix === null) t.ok(addresses > usableAddresses(16));
    else {
      t.ok(usableAddresses(prefix) >= addresses);
      t.ok(prefix === 29 || usableAddresses(prefix + 1) < addresses, `${nodes} nodes, /${prefix}`);
    }
  }
});

t.test('plan: a node takes the water marks as they are said, and they serve the burst', async (t) => {
  for (const pods of [1, 10, 30, 44, 45, 200])
    for (const churnPerMinute of [0, 1, 20, 300])
      for (const burst of [1, 5, 40]) {
        const { minPool, maxPool, capacity, fits } = nodePlan({ ...wanted, pods, churnPerMinute, burst });
        const marks: PoolMarks = { minIdle: minPool, maxIdle: maxPool, minEnis: 0, warmUpSize: 0 };
        const view = { capacity, ipv4PerEni: 15, held: pods, warming: false, demand: null };
        t.strictSame(
          marksOf(marks, view),
          { minIdle: minPool, maxIdle: maxPool, why: 'min_pool_size' },
          `${pods} pods, ${churnPerMinute}/min, ${burst} at once`,
        );
        if (fits && capacity - pods >= burst) t.ok(minPool >= burst, 'what comes at once lies ready');
      }
});
