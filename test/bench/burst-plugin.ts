/**
 * A burst of pods on a cold node through everything there is: plugin processes, daemon, SDK, HTTP and the kernel, in real time, against the
 * optimal script (burst-script.ts) that makes the same calls of the same cloud, in its process and without a wire, and the pods' objects by
 * `ip -batch`.
 *
 * The cloud has its realistic delays. Both sides have an instance of the same kind in it, and sandboxes whose network namespaces were made
 * before. The script knows all in advance: it creates every ENI at once with the addresses that it needs, and makes the pods of an ENI as soon
 * as the cloud has attached it, which it is told in this process and need not ask for. Each round is on a machine of its own.
 */
import { defaultSettings } from '../../src/core/settings.ts';
import type { Answer } from '../../src/vpc/gateway.ts';
import type { ApiName, EniView, Input, Output } from '../../src/vpc/requests.ts';
import { PROFILES } from '../../src/vpc/settings.ts';
import type { Machine } from '../daemon/machine.ts';
import { endOf, type MachineSize, onMachine, startFor } from './bench-machine.ts';
import { ip, mustBeBuilt, numberedPod, type Pod, run, Sides, started } from './cni-sides.ts';
import { type Bench, type BenchOptions, compared, type Measurement, sampled } from './measurement.ts';

const BURSTS: readonly { readonly pods: number; readonly size: MachineSize }[] = [
  { pods: 20, size: { enis: 4, ipv4PerEni: 15 } },
  { pods: 60, size: { enis: 4, ipv4PerEni: 15 } },
  { pods: 120, size: { enis: 8, ipv4PerEni: 30 } },
];
const TIME_AIM = 1.35;
const DEFAULT_ROUNDS = 3;
const BENCH = 'burst-plugin';
const SCRIPTS_INSTANCE = 1;
const PODS_MAX = 128;
/** As in life; the machine of the tests looks more often. */
const DESCRIBE_PERIOD = `${defaultSettings.describePeriodMs}ms`;

/** From the first process to the end of the last. */
async function byPlugin(here: Machine, pods: readonly Pod[]): Promise<number> {
  const sides = new Sides(here.paths.jsonSocket, here.dir, 'default');
  const startMs = performance.now();
  await Promise.all(pods.flatMap((pod) => sides.processes('add', pod)).map(started));
  return performance.now() - startMs;
}

async function outputOf<A extends ApiName>(calling: Promise<Answer<A>>): Promise<Output<A>> {
  const { result } = await calling;
  if (!result.ok) throw new Error(`the script was refused: ${result.code}`);
  return result.output;
}

type Wanted = {
  readonly vSwitchId: string;
  readonly securityGroupIds: readonly string[];
  readonly count: number;
  readonly nth: number;
};

async function created(here: Machine, { vSwitchId, securityGroupIds, count, nth }: Wanted): Promise<EniView> {
  const input: Input<'CreateNetworkInterface'> = {
    ...{ vSwitchId, securityGroupIds, primaryIp: null, ipv4: { count: count - 1 }, ipv6: { count: 0 } },
    ...{ name: '', description: '', deleteOnRelease: true, sourceDestCheck: false, trafficMode: 'Standard' },
    ...{ queueNumber: null, tags: {} },
  };
  const clientToken = `script-${nth}`;
  const params = { VSwitchId: vSwitchId, ClientToken: clientToken };
  return await outputOf(here.cloud.live.call({ api: 'CreateNetworkInterface', input, params, clientToken }));
}

/** The same by the script. */
async function byScript(here: Machine, pods: readonly Pod[], { ipv4PerEni }: MachineSize): Promise<number> {
  const instance = here.cloud.model.truth(Date.now()).instances[SCRIPTS_INSTANCE];
  if (instance === undefined) throw new Error('the script has no instance');
  const { instanceId, vSwitchId, securityGroupIds } = instance;
  const sides = new Sides('', '');
  const attached = new Map<string, () => void>();
  const end = here.cloud.model.subscribe((event) => {
    if (event.type === 'attached') attached.get(event.eniId)?.();
  });
  const startMs = performance.now();
  const lots = Array.from({ length: Math.ceil(pods.length / ipv4PerEni) }, (_, nth) =>
    pods.slice(nth * ipv4PerEni, (nth + 1) * ipv4PerEni),
  );
  await Promise.all(
    lots.map(async (lot, nth) => {
      const { eniId, ipv4 } = await created(here, { vSwitchId, securityGroupIds, count: lot.length, nth });
      const there = new Promise<void>((resolve) => attached.set(eniId, resolve));
      const params = { NetworkInterfaceId: eniId, InstanceId: instanceId };
      await outputOf(
        here.cloud.live.call({
          api: 'AttachNetworkInterface',
          input: { eniId, instanceId },
          params,
          clientToken: null,
        }),
      );
      await there;
      await Promise.all(
        lot.map(async (pod, which) => {
          const addressed = { ...pod, ip: ipv4[which] ?? pod.ip };
          for (const process of sides.processes('add', addressed)) await started(process);
        }),
      );
    }),
  );
  end();
  return performance.now() - startMs;
}

type Burst = (typeof BURSTS)[number];

async function round({ pods, size }: Burst, options: BenchOptions): Promise<{ ours: number; script: number }> {
  const settings = { delays: PROFILES.realistic };
  const config = { cool_down: '0s', min_pool_size: 0, max_pool_size: 0, describe_period: DESCRIBE_PERIOD };
  return await onMachine(
    config,
    async (here) => {
      made += 1;
      const numbered = (side: Pod['side']): Pod[] =>
        Array.from({ length: pods }, (_, nth) => numberedPod(side, made * PODS_MAX + nth));
      const [plugins, scripts] = [numbered('plugin'), numbered('yardstick')];
      for (const { sandboxId } of plugins) here.addPod(sandboxId);
      for (const { netns } of [...plugins, ...scripts]) run(ip(['netns', 'add', netns]));
      const daemon = startFor(here, options);
      try {
        await daemon.serving();
        const script = made % 2 === 0 ? await byScript(here, scripts, size) : null;
        const ours = await byPlugin(here, plugins);
        return { ours, script: script ?? (await byScript(here, scripts, size)) };
      } finally {
        await endOf(daemon, options);
        for (const { netns } of [...plugins, ...scripts]) run(ip(['netns', 'del', netns]));
      }
    },
    { size, instances: 2, settings },
  );
}

let made = 0;

export const burstPlugin: Bench = {
  name: BENCH,
  summary: `${BURSTS.map(({ pods }) => pods).join(', ')} pods at once on a cold node through plugin and daemon, beside an optimal script (real time)`,
  async run(options) {
    mustBeBuilt();
    const rows: Measurement[] = [];
    for (const burst of BURSTS) {
      const [ours, script]: [number[], number[]] = [[], []];
      for (let nth = 0; nth < (options.rounds ?? DEFAULT_ROUNDS); nth += 1) {
        const measured = await round(burst, options);
        ours.push(measured.ours);
        script.push(measured.script);
        options.progress(
          `${burst.pods} pods: ${Math.round(measured.ours)} ms, script ${Math.round(measured.script)} ms`,
        );
      }
      const of = (what: string): string => `${burst.pods} pods, ${what}`;
      rows.push(
        sampled(BENCH, of('last ADD, plugin'), ours, 'ms'),
        sampled(BENCH, of('last pod, script'), script, 'ms'),
        compared(BENCH, of('against the script'), ours, script, TIME_AIM),
      );
    }
    return rows;
  },
};
