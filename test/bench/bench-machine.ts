/** The machine of a bench: the real daemon (of dist/) over the lab's cloud and API server, on an instance with room for many pods. */
import { BOX_VARIABLE } from '../../src/lab/box/box-command.ts';
import { INSTANCE_TYPES, type InstanceType } from '../../src/vpc/instance-types.ts';
import type { Settings } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { call, type DaemonRun, type Machine, machine } from '../daemon/machine.ts';
import { type BenchOptions, quantile } from './measurement.ts';
import { profileArgs } from './profile.ts';

/** ENIs beside the primary one, and addresses on each. */
export type MachineSize = { readonly enis: number; readonly ipv4PerEni: number };
const LARGE: MachineSize = { enis: 9, ipv4PerEni: 30 };

const typeOf = ({ enis, ipv4PerEni }: MachineSize): InstanceType => ({
  ...(INSTANCE_TYPES[0] as InstanceType),
  instanceType: 'bench.node',
  enis: enis + 1,
  ipv4PerEni,
  ipv6PerEni: 0,
  enisInTotal: enis + 1,
});
const AT_ONCE = 20;
const GIVEN_UP_MS = 60_000;
const POLL_MS = 3;

export type MachineKind = {
  readonly size?: MachineSize;
  /** In the cloud; the daemon is on the first. */
  readonly instances?: number;
  readonly settings?: Partial<Settings>;
};

/** Runs `work` on such a machine, and takes all of it away again, whatever happens. */
export async function onMachine<T>(
  config: Readonly<Record<string, unknown>>,
  work: (here: Machine) => Promise<T>,
  { size = LARGE, instances = 1, settings = {} }: MachineKind = {},
): Promise<T> {
  process.env[BOX_VARIABLE] ??= 'root';
  const ends: (() => unknown)[] = [];
  const test = { teardown: (end: () => unknown) => void ends.push(end) } as unknown as Parameters<typeof machine>[0];
  const type = typeOf(size);
  const topology = { ...defaultTopology(type.instanceType, instances), instanceTypes: [type] };
  const here = await machine(test, { ...config }, { topology, settings });
  try {
    return await work(here);
  } finally {
    for (const end of ends) await end();
  }
}

export function startFor(here: Machine, { profileInto }: BenchOptions, nodeArgs: readonly string[] = []): DaemonRun {
  return here.start({}, here.dir, [...profileArgs(profileInto), ...nodeArgs]);
}

/** Ends it so that it leaves its profile. */
export async function endOf(daemon: DaemonRun, { profileInto }: BenchOptions): Promise<void> {
  if (profileInto === null) await daemon.kill();
  else await daemon.stop();
}

/** In lots, so that a line of requests never grows beyond what a kubelet would send. */
export async function inLots(count: number, work: (nth: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => work(from + index)));
}

export async function idleAtLeast(daemon: DaemonRun, count: number): Promise<void> {
  await daemon.until(async () => ((await daemon.report()).pool?.counts.idle ?? 0) >= count);
}

/** From the start of the process to its first AllocIP that is answered; the caller asks as a kubelet that has waited long would. */
export async function firstAnswer(here: Machine, pod: string, options: BenchOptions, end = endOf): Promise<number> {
  const startMs = performance.now();
  const daemon = startFor(here, options);
  try {
    for (;;) {
      const answer = await call(here.paths.jsonSocket, 'AllocIP', pod).catch(() => null);
      if (answer?.status === 200) break;
      if (performance.now() - startMs > GIVEN_UP_MS) throw new Error(`no answer:\n${daemon.log.slice(-2_000)}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const ms = performance.now() - startMs;
    await call(here.paths.jsonSocket, 'ReleaseIP', pod);
    return ms;
  } finally {
    await end(daemon, options);
  }
}

/** For progress: what was sampled, in whole units. */
export const listed = (samples: readonly number[]): string =>
  `${samples.map((ms) => Math.round(ms)).join(' ')} (median ${Math.round(quantile(samples, 0.5))})`;
