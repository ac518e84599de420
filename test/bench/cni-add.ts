/**
 * The compiled plugin's ADD and DEL beside the same kernel objects made and removed by two `ip -batch` runs.
 *
 * Both sides are whole processes, timed from spawn to exit by the same spawnSync with their input on stdin, in one namespace
 * that plays the node; each pod gets a network namespace nobody used before, made before and removed after all timing, since
 * the kernel tears namespaces down later and under the lock that both sides need. Rounds alternate which side goes first.
 * In every stage the first pod of each side is compared, object by object, before figures are believed, and is checked to be gone
 * afterwards. What the plugin does beyond that counts against it: it asks a daemon (instant, in a worker of this process, on
 * the real JSON socket), looks for leftovers, sets sysctls and an alias. The pods already present have routes, rules and
 * host devices of their own; their far ends share one namespace.
 * The aim is on the ratio of the medians of ADD.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { InstantDaemonData } from './instant-daemon.ts';
import { type Bench, type Measurement, measurement, quantile } from './measurement.ts';
import { addBatches, type Batch, removeBatches, type YardstickPod } from './pod-by-ip.ts';
import { podObjects } from './pod-objects.ts';

const PLUGIN_PATH = resolve('dist/enactor-cni');
const PRESENT = [0, 200] as const;
const DEFAULT_ROUNDS = 60;
const WARM_UP_ROUNDS = 5;
const PROCESS_TIMEOUT_MS = 20_000;
const ADD_RATIO_AIM = 2.5;
const ENI = { mac: '02:00:00:00:07:01', device: 'eni1', routeTable: 1099 };

type Side = 'plugin' | 'yardstick';
type Pod = YardstickPod & { readonly sandboxId: string; readonly side: Side };

function run(command: string, args: readonly string[], input: string, env?: NodeJS.ProcessEnv): number {
  const startMs = performance.now();
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, env, timeout: PROCESS_TIMEOUT_MS });
  const ms = performance.now() - startMs;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? ''} ${stdout}${stderr}`);
  return ms;
}

const runBatches = (batches: readonly Batch[]) =>
  batches.reduce((ms, batch) => ms + run('ip', batch.args, batch.lines, process.env), 0);

/** Numbers a pod: its address, MACs and names follow. Side and number are never used twice in one run. */
function numberedPod(side: Side, number: number): Pod {
  const [high, low] = [number >> 8, number & 255];
  const hex = (value: number) => value.toString(16).padStart(2, '0');
  const kind = side === 'plugin' ? 1 : 2;
  return {
    side,
    sandboxId: `bench-${number}`,
    netns: `${side}${number}`,
    hostName: `yard${number}`,
    hostMac: `0e:00:0${kind}:00:${hex(high)}:${hex(low)}`,
    podMac: `0e:00:0${kind}:01:${hex(high)}:${hex(low)}`,
    ip: `10.7.${kind * 16 + high}.${low}`,
    routeTable: ENI.routeTable,
  };
}

class PluginCalls {
  readonly #conf: string;
  constructor(socketPath: string, dataDir: string) {
    this.#conf = JSON.stringify({
      cniVersion: '1.0.0',
      name: 'enactor',
      type: 'enactor-cni',
      daemonSocket: socketPath,
      dataDir,
      mtu: 1500,
    });
  }

  call(command: 'ADD' | 'DEL', pod: Pod): number {
    const args = { K8S_POD_NAMESPACE: 'bench', K8S_POD_NAME: pod.sandboxId, K8S_POD_INFRA_CONTAINER_ID: pod.sandboxId };
    return run(PLUGIN_PATH, [], this.#conf, {
      PATH: process.env.PATH,
      CNI_COMMAND: command,
      CNI_CONTAINERID: pod.sandboxId,
      CNI_NETNS: `/run/netns/${pod.netns}`,
      CNI_IFNAME: 'eth0',
      CNI_PATH: resolve('dist'),
      CNI_ARGS: `IgnoreUnknown=1;${Object.entries(args)
        .map((pair) => pair.join('='))
        .join(';')}`,
    });
  }
}

async function startDaemon(data: InstantDaemonData): Promise<Worker> {
  const worker = new Worker(new URL('instant-daemon.ts', import.meta.url), { workerData: data });
  await new Promise((done, failed) => worker.once('message', done).once('error', failed));
  return worker;
}

/** Pods that are there already, made all at once. */
function makeCrowd(count: number): void {
  const lines = Array.from({ length: count }, (_, index) => {
    const [name, ip] = [`crowd${index}`, `10.7.${128 + (index >> 8)}.${index & 255}`];
    return [
      `link add ${name} type veth peer name ${name} netns crowd`,
      `link set ${name} up`,
      `route add ${ip}/32 dev ${name} scope link`,
      `rule add to ${ip}/32 lookup main priority 512`,
      `rule add from ${ip}/32 lookup ${ENI.routeTable} priority 2048`,
    ];
  });
  run('ip', ['netns', 'add', 'crowd'], '', process.env);
  run('ip', ['-batch', '-'], `${lines.flat().join('\n')}\n`, process.env);
}

function assertSame(plugin: Pod, yardstick: Pod): void {
  const blank = (pod: Pod) => JSON.stringify(podObjects(pod), null, 1).replaceAll(pod.ip, 'POD');
  const [made, wanted] = [blank(plugin), blank(yardstick)];
  if (made !== wanted) throw new Error(`the two sides do not make the same objects:\n${made}\nand by ip:\n${wanted}`);
}

function assertGone(pod: Pod): void {
  const { stdout } = spawnSync('sh', ['-c', `ip route show table all; ip rule show; ip -n ${pod.netns} link show`]);
  if (`${stdout}`.includes(pod.ip) || `${stdout}`.includes('eth0'))
    throw new Error(`the ${pod.side} left something of ${pod.ip}:\n${stdout}`);
}

type Samples = Record<`${Side}.${'add' | 'del'}`, number[]>;

/** All rounds at one number of pods present. */
function measureStage(pods: readonly (readonly [Pod, Pod])[], calls: PluginCalls): Samples {
  const samples: Samples = { 'plugin.add': [], 'plugin.del': [], 'yardstick.add': [], 'yardstick.del': [] };
  const add = (pod: Pod) => (pod.side === 'plugin' ? calls.call('ADD', pod) : runBatches(addBatches(pod)));
  const remove = (pod: Pod) => (pod.side === 'plugin' ? calls.call('DEL', pod) : runBatches(removeBatches(pod)));
  pods.forEach((pair, round) => {
    const order = round % 2 === 0 ? pair : pair.toReversed();
    const added = order.map((pod) => ({ pod, ms: add(pod) }));
    if (round === 0) assertSame(...pair);
    const removed = order.map((pod) => ({ pod, ms: remove(pod) }));
    if (round === 0) pair.forEach(assertGone);
    if (round < WARM_UP_ROUNDS) return;
    for (const { pod, ms } of added) samples[`${pod.side}.add`].push(ms);
    for (const { pod, ms } of removed) samples[`${pod.side}.del`].push(ms);
  });
  return samples;
}

function figures(samples: Samples, present: number): readonly Measurement[] {
  const at = `${present} pods`;
  return (['add', 'del'] as const).flatMap((verb) => {
    const [plugin, yardstick] = [samples[`plugin.${verb}`], samples[`yardstick.${verb}`]];
    const name = (what: string) => `${verb.toUpperCase()} ${at}, ${what}`;
    const ratio = quantile(plugin, 0.5) / quantile(yardstick, 0.5);
    return [
      measurement('cni-add', name('plugin median'), quantile(plugin, 0.5), 'ms'),
      measurement('cni-add', name('plugin p95'), quantile(plugin, 0.95), 'ms'),
      measurement('cni-add', name('ip -batch median'), quantile(yardstick, 0.5), 'ms'),
      measurement('cni-add', name('ip -batch p95'), quantile(yardstick, 0.95), 'ms'),
      measurement('cni-add', name('ratio of medians'), ratio, 'x', verb === 'add' ? ADD_RATIO_AIM : null),
    ];
  });
}

export const cniAdd: Bench = {
  name: 'cni-add',
  summary: 'the plugin’s ADD and DEL against the same objects made by two `ip -batch` runs, at 0 and 200 pods',
  async run({ rounds, progress }) {
    if (!existsSync(PLUGIN_PATH)) throw new Error(`${PLUGIN_PATH} is not built: npm run build`);
    const count = (rounds ?? DEFAULT_ROUNDS) + WARM_UP_ROUNDS;
    const folder = mkdtempSync('/run/bench-');
    const stages = PRESENT.map((present, stage) => ({
      present,
      pods: Array.from({ length: count }, (_, round) => {
        const number = stage * count + round + 1;
        return [numberedPod('plugin', number), numberedPod('yardstick', number)] as const;
      }),
    }));
    const all = stages.flatMap((stage) => stage.pods.flat());
    const addresses = Object.fromEntries(
      all.flatMap((pod) => (pod.side === 'plugin' ? [[pod.sandboxId, pod.ip]] : [])),
    );
    runBatches([
      {
        args: ['-batch', '-'],
        lines: `link add ${ENI.device} address ${ENI.mac} type veth peer name wire\nlink set ${ENI.device} up\n`,
      },
    ]);
    const daemon = await startDaemon({ socketPath: `${folder}/enactor.socket`, eni: ENI, addresses });
    try {
      const calls = new PluginCalls(`${folder}/enactor.socket`, folder);
      const measured: Measurement[] = [];
      for (const { present, pods } of stages) {
        progress(`${pods.length} rounds at ${present} pods`);
        if (present > 0) makeCrowd(present);
        for (const { netns } of pods.flat()) run('ip', ['netns', 'add', netns], '', process.env);
        measured.push(...figures(measureStage(pods, calls), present));
      }
      return measured;
    } finally {
      await daemon.terminate();
    }
  },
};
