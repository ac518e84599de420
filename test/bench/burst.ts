/**
 * A burst of pods on a cold node: our actors, a script that is optimal, and the original's policy, side by side through the same simulated
 * cloud on the same virtual clock.
 *
 * All requests come at one instant, to a node that has served nothing yet and keeps no idle addresses (water marks 0). Measured are the
 * virtual time until the last one has its answer, on disk, and the mutating calls that the cloud's ledger has from then until the node has been
 * left alone for ten minutes: what is made too large has to be given back, and that counts. Nothing depends on the machine, so one round is
 * all. Why the script is optimal is said in burst-script.ts, what the original does in burst-original.ts. The actors are those of the daemon
 * (`startNode`) with the daemon's default settings.
 */
import { startNode } from '../../actors/node.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import { BurstNode, type Size } from './burst-node.ts';
import { runOriginal } from './burst-original.ts';
import { runScript } from './burst-script.ts';
import { type Bench, type Measurement, measurement } from './measurement.ts';

const TIME_AIM = 1.25;
const CALLS_AIM = 1.3;
const DEADLINE_MS = 110_000;
const AFTERWARDS_MS = 600_000;

type Burst = { readonly pods: number; readonly size: Size };
type Figures = { readonly ms: number; readonly calls: number; readonly text: string };
type Contender = (node: BurstNode) => Promise<(pods: number) => Promise<void>>;

export const bursts: readonly Burst[] = [
  { pods: 20, size: { enis: 4, ipv4PerEni: 15 } },
  { pods: 60, size: { enis: 4, ipv4PerEni: 15 } },
  { pods: 120, size: { enis: 8, ipv4PerEni: 30 } },
];

/** Starts the daemon's actors; what they do until they serve is not part of the burst. */
const actors: Contender = async (node) => {
  const { allocator, whenServing } = startNode({
    ports: node.ports,
    settings: { ...defaultSettings, nodeName: 'bench' },
    clock: node.life.timers as unknown as NonNullable<Parameters<typeof startNode>[0]['clock']>,
  });
  await whenServing(new AbortController().signal);
  return async (pods) => {
    const untilMs = node.clock.nowMs() + DEADLINE_MS;
    await Promise.all(
      Array.from({ length: pods }, (_, index) => {
        const containerId = `burst-${index}`;
        const pod = { namespace: 'default', name: containerId, uid: null };
        const sandbox = { containerId, ifName: 'eth0', netns: `/run/netns/${containerId}`, network: 'enactor', pod };
        return allocator.allocate({ sandbox, untilMs }, new AbortController().signal);
      }),
    );
  };
};

const contenders = {
  enactor: actors,
  script: async (node: BurstNode) => (pods: number) => runScript(node, pods),
  original: async (node: BurstNode) => (pods: number) => runOriginal(node, pods),
} satisfies Record<string, Contender>;
type Name = keyof typeof contenders;

async function figures(contender: Contender, { pods, size }: Burst): Promise<Figures> {
  const node = new BurstNode(size);
  const burst = await node.until(contender(node));
  const [startMs, mark] = [node.clock.nowMs(), node.mark];
  await node.until(burst(pods));
  const ms = node.clock.nowMs() - startMs;
  await node.until(node.sleep(AFTERWARDS_MS));
  const { mutating: calls, text } = node.callsSince(mark);
  node.life.end();
  return { ms, calls, text };
}

/** One row a contender and burst, ratios against the script. */
export function sideBySide(rows: readonly (Burst & { readonly by: Readonly<Record<Name, Figures>> })[]): string {
  const cells = rows.flatMap(({ pods, size, by }) =>
    (Object.keys(by) as Name[]).map((name) => [
      `${pods} on ${size.enis} x ${size.ipv4PerEni}`,
      name,
      `${(by[name].ms / 1000).toFixed(2)} s`,
      `${(by[name].ms / by.script.ms).toFixed(2)}x`,
      `${by[name].calls}`,
      `${(by[name].calls / by.script.calls).toFixed(2)}x`,
    ]),
  );
  const all = [['burst', 'by', 'last answer', 'of script', 'calls', 'of script'], ...cells];
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)));
  return all
    .map((line) =>
      line
        .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}

export const burst: Bench = {
  name: 'burst',
  summary: '20, 60 and 120 pods at once on a cold node, beside an optimal script and the original (virtual time)',
  async run({ progress }) {
    const rows: Measurement[] = [];
    const measured = [];
    for (const each of bursts) {
      const by = {} as Record<Name, Figures>;
      for (const name of Object.keys(contenders) as Name[]) {
        by[name] = await figures(contenders[name], each);
        progress(`${each.pods} pods by ${name}: ${by[name].text}`);
      }
      measured.push({ ...each, by });
      const { enactor, script, original } = by;
      const row = (metric: string, ...rest: [number, Measurement['unit'], (number | null)?]): void =>
        void rows.push(measurement('burst', `${each.pods} pods, ${metric}`, ...rest));
      row('last answer, enactor', enactor.ms, 'ms');
      row('last answer, script', script.ms, 'ms');
      row('last answer, original', original.ms, 'ms');
      row('last answer, ratio to script', enactor.ms / script.ms, 'x', TIME_AIM);
      row('last answer, original to script', original.ms / script.ms, 'x');
      row('mutating calls, enactor', enactor.calls, 'count');
      row('mutating calls, script', script.calls, 'count');
      row('mutating calls, original', original.calls, 'count');
      row('mutating calls, ratio to script', enactor.calls / script.calls, 'x', CALLS_AIM);
      row('mutating calls, original to script', original.calls / script.calls, 'x');
    }
    progress(`side by side\n${sideBySide(measured)}`);
    return rows;
  },
};
