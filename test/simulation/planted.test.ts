/** Faults of the program itself, planted at its ports: the simulation has to find each, and say which invariant it breaks. */
import t from 'tap';
import type { NodePorts } from '../../actors/ports.ts';
import { runSeed } from '../../src/simulation/run-seed.ts';
import { scenarioOf } from '../../src/simulation/scenario.ts';
import { shorten } from '../../src/simulation/shorten.ts';
import type { Violation } from '../../src/simulation/violation.ts';

const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1);

async function found({ plant, seeds = SEEDS, steps = 400 }: Planted): Promise<(Violation & { seed: number }) | null> {
  for (const seed of seeds) {
    const { violation } = await runSeed(seed, { steps }, { plant });
    if (violation !== null) return { ...violation, seed };
  }
  return null;
}

/** Every method of `real` but those of `instead`. */
const over = <T extends object>(real: T, instead: Partial<T>): T => Object.assign(Object.create(real), instead);

type Planted = {
  /** Those that it breaks at once, whichever is looked at first. */
  readonly invariant: string;
  readonly seeds?: readonly number[];
  readonly steps?: number;
  readonly plant: (ports: NodePorts) => NodePorts;
};

const planted: Record<string, Planted> = {
  'an answer before the write is synced': {
    invariant: '10',
    plant: ({ store, ...rest }) => ({
      ...rest,
      store: over(store, {
        write: async (ops) => {
          const written = store.write(ops);
          if (ops.some((op) => op.in === 'leases')) void written.catch(() => undefined);
          else await written;
        },
      }),
    }),
  },
  'a call that leaves before its intent is synced': {
    invariant: '6',
    plant: ({ store, ...rest }) => ({
      ...rest,
      store: over(store, {
        write: async (ops) => {
          const written = store.write(ops);
          if (ops.some((op) => op.in === 'intents')) void written.catch(() => undefined);
          else await written;
        },
      }),
    }),
  },
  'a host that nobody mends': {
    invariant: '7',
    plant: ({ kernel, ...rest }) => ({
      ...rest,
      kernel: over(kernel, { keep: async () => ({ drifts: [], whole: [], begun: [], unclaimed: [] }) }),
    }),
  },
  'leases that are not read at start, where the host tells nothing': {
    invariant: '1',
    plant: ({ store, host, ...rest }) => ({
      ...rest,
      host: { bootId: () => host.bootId(), links: () => host.links(), pods: async () => [] },
      store: over(store, { read: async (name) => (name === 'leases' ? [] : await store.read(name)) }),
    }),
  },
  'an unassign that takes one address more': {
    invariant: '2 or 7 or 1',
    plant: ({ cloud, ...rest }) => {
      const assigned = new Map<string, string[]>();
      return {
        ...rest,
        cloud: over(cloud, {
          assignIpv4: async (eniId, count, token, signal) => {
            const ips = await cloud.assignIpv4(eniId, count, token, signal);
            assigned.set(eniId, [...(assigned.get(eniId) ?? []), ...ips]);
            return ips;
          },
          unassignIpv4: (eniId, ips, signal) => {
            const more = (assigned.get(eniId) ?? []).filter((ip) => !ips.includes(ip)).slice(0, 1);
            return cloud.unassignIpv4(eniId, [...ips, ...more], signal);
          },
        }),
      };
    },
  },
  'a detach that touches the primary ENI': {
    invariant: '5',
    plant: ({ cloud, ...rest }) => ({
      ...rest,
      cloud: over(cloud, {
        detachEni: async (_eniId, instanceId, signal) => {
          const enis = await cloud.describeEnis({ instanceId }, signal);
          const primary = enis.find((eni) => eni.type === 'Primary')?.eniId ?? '';
          await cloud.detachEni(primary, instanceId, signal);
        },
      }),
    }),
  },
  'a second ENI for every one that is made': {
    invariant: '5 or 6',
    plant: ({ cloud, ...rest }) => ({
      ...rest,
      cloud: over(cloud, {
        createEni: async (wanted, signal) => {
          await cloud.createEni({ ...wanted, clientToken: `${wanted.clientToken}-2` }, signal);
          return await cloud.createEni(wanted, signal);
        },
      }),
    }),
  },
  'an Assign that is asked for anew when its answer is lost': {
    invariant: 'token',
    seeds: [17, 21, 26],
    steps: 1_000,
    plant: ({ cloud, ...rest }) => {
      let calls = 0;
      const assignIpv4: NodePorts['cloud']['assignIpv4'] = (eniId, count, token, signal) => {
        calls += 1;
        return cloud.assignIpv4(eniId, count, `${token}-${calls}`, signal);
      };
      return { ...rest, cloud: over(cloud, { assignIpv4 }) };
    },
  },
  'a host that does not tell of its pods after a loss': {
    invariant: '1',
    // All that makes leases and stores go is in some seeds only.
    seeds: [37, 85],
    steps: 1_000,
    plant: ({ host, ...rest }) => ({
      ...rest,
      host: { bootId: () => host.bootId(), links: () => host.links(), pods: async () => [] },
    }),
  },
  // Either of the two mends what the other has missed.
  'a release that leaves no record of what its sandbox may have left, and looks at the host that are never thorough': {
    invariant: '7',
    seeds: [117, 408, 426, 123],
    steps: 600,
    plant: ({ store, kernel, ...rest }) => ({
      ...rest,
      kernel: over(kernel, { keep: async (wanted) => await kernel.keep({ ...wanted, thorough: false }) }),
      store: over(store, {
        write: (ops) => store.write(ops.filter((op) => op.in !== 'leftovers')),
      }),
    }),
  },
  'a promise that is never kept': {
    invariant: '4 or alive',
    plant: ({ store, ...rest }) => ({
      ...rest,
      store: over(store, {
        write: async (ops) =>
          await (ops.some((op) => op.in === 'leases') ? new Promise<void>(() => undefined) : store.write(ops)),
      }),
    }),
  },
};

for (const [name, one] of Object.entries(planted)) {
  const { invariant } = one;
  t.test(`planted: ${name} breaks invariant ${invariant}, and is found`, async (t) => {
    const violation = await found(one);
    t.ok(
      violation !== null && violation !== undefined && invariant.split(' or ').includes(violation.invariant),
      `${violation?.invariant}: ${violation?.what ?? 'nothing was found'}`,
    );
  });
}

t.test('planted: a failing plan is made short, and the short one still fails', async (t) => {
  const plant = planted['an answer before the write is synced']?.plant;
  if (plant === undefined) throw new Error('no such plant');
  const scenario = scenarioOf(2, { steps: 400 });
  const short = await shorten(scenario, { plant });
  t.match(short?.violation, { invariant: '10' });
  t.ok((short?.plan.length ?? 99) <= 3, `${short?.plan.length} of ${scenario.plan.length} decisions are left`);
});
