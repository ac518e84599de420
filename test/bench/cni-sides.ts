/**
 * The two sides that the benches of the plugin compare: the compiled plugin, and iproute2 making the same objects by two `ip -batch` runs.
 *
 * Each pod gets a network namespace nobody used before, made before and removed after all timing, since the kernel tears namespaces down
 * later and under the lock that both sides need. What the plugin does beyond the objects counts against it: it asks a daemon (instant, in a
 * worker of this process, on the real JSON socket), looks for leftovers, sets sysctls and an alias.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { InstantDaemonData } from './instant-daemon.ts';
import { addBatches, type Batch, removeBatches, type YardstickPod } from './pod-by-ip.ts';
import { podObjects } from './pod-objects.ts';

export const PLUGIN_PATH = resolve('dist/enactor-cni');
const PROCESS_TIMEOUT_MS = 20_000;
export const ENI = { mac: '02:00:00:00:07:01', device: 'eni1', routeTable: 1099 };

export type Side = 'plugin' | 'yardstick';
export type Verb = 'add' | 'del';
export type Pod = YardstickPod & { readonly sandboxId: string; readonly side: Side };
/** One process: what runs with which input and environment. */
export type Process = {
  readonly command: string;
  readonly args: readonly string[];
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
};

export function mustBeBuilt(): void {
  if (!existsSync(PLUGIN_PATH)) throw new Error(`${PLUGIN_PATH} is not built: npm run build`);
}

/** Numbers a pod: its address, MACs and names follow. Side and number are never used twice in one run. */
export function numberedPod(side: Side, number: number): Pod {
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
    ip: `10.7.${kind * 32 + high}.${low}`,
    routeTable: ENI.routeTable,
  };
}

/** How long the process took, from spawn to exit, in milliseconds. Throws with what it printed when it fails. */
export function run({ command, args, input, env }: Process): number {
  const startMs = performance.now();
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, env, timeout: PROCESS_TIMEOUT_MS });
  const ms = performance.now() - startMs;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? ''} ${stdout}${stderr}`);
  return ms;
}

export const ip = (args: readonly string[], input = ''): Process => ({ command: 'ip', args, input, env: process.env });

const processOf = ({ args, lines }: Batch): Process => ip(args, lines);

export class Sides {
  readonly #conf: string;
  readonly #namespace: string;

  /** `namespace`: of the pods. */
  constructor(socketPath: string, dataDir: string, namespace = 'bench') {
    this.#namespace = namespace;
    this.#conf = JSON.stringify({
      cniVersion: '1.0.0',
      name: 'enactor',
      type: 'enactor-cni',
      daemonSocket: socketPath,
      dataDir,
      mtu: 1500,
    });
  }

  /** The processes that do it, one after the other. */
  processes(verb: Verb, pod: Pod): readonly Process[] {
    if (pod.side === 'plugin') return [this.#plugin(verb, pod)];
    return (verb === 'add' ? addBatches(pod) : removeBatches(pod)).map(processOf);
  }

  #plugin(verb: Verb, pod: Pod): Process {
    const { sandboxId } = pod;
    const named = { K8S_POD_NAMESPACE: this.#namespace, K8S_POD_NAME: sandboxId };
    const args = { ...named, K8S_POD_INFRA_CONTAINER_ID: sandboxId };
    return {
      command: PLUGIN_PATH,
      args: [],
      input: this.#conf,
      env: {
        PATH: process.env.PATH,
        CNI_COMMAND: verb.toUpperCase(),
        CNI_CONTAINERID: pod.sandboxId,
        CNI_NETNS: `/run/netns/${pod.netns}`,
        CNI_IFNAME: 'eth0',
        CNI_PATH: resolve('dist'),
        CNI_ARGS: `IgnoreUnknown=1;${Object.entries(args)
          .map((pair) => pair.join('='))
          .join(';')}`,
      },
    };
  }
}

/** Without waiting for it. Rejects with what it printed when it fails. */
export function started({ command, args, input, env }: Process): Promise<void> {
  return new Promise((ended, failed) => {
    const child = spawn(command, args, { env, stdio: 'pipe' });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
    child.on('error', failed);
    child.on('close', (code) => (code === 0 ? ended() : failed(new Error(`${command} ${args.join(' ')}: ${text}`))));
    child.stdin.end(input);
  });
}

/** The daemon that answers at once, for these pods. */
export async function startDaemon(socketPath: string, pods: readonly Pod[]): Promise<Worker> {
  const addresses = Object.fromEntries(pods.flatMap((pod) => (pod.side === 'plugin' ? [[pod.sandboxId, pod.ip]] : [])));
  const data: InstantDaemonData = { socketPath, eni: ENI, addresses };
  const worker = new Worker(new URL('instant-daemon.ts', import.meta.url), { workerData: data });
  await new Promise((done, failed) => worker.once('message', done).once('error', failed));
  return worker;
}

/** The device that the ENI's table leads over. */
export function makeEni(): void {
  run(
    ip(
      ['-batch', '-'],
      `link add ${ENI.device} address ${ENI.mac} type veth peer name wire\nlink set ${ENI.device} up\n`,
    ),
  );
}

export function assertSame(plugin: Pod, yardstick: Pod): void {
  const blank = (pod: Pod) => JSON.stringify(podObjects(pod), null, 1).replaceAll(pod.ip, 'POD');
  const [made, wanted] = [blank(plugin), blank(yardstick)];
  if (made !== wanted) throw new Error(`the two sides do not make the same objects:\n${made}\nand by ip:\n${wanted}`);
}

export function assertGone(pod: Pod): void {
  const { stdout } = spawnSync('sh', ['-c', `ip route show table all; ip rule show; ip -n ${pod.netns} link show`], {
    maxBuffer: 2 ** 26,
  });
  // The address with what may not follow it: .1 is no part of .10.
  const named = new RegExp(`\\b${pod.ip.replaceAll('.', '\\.')}\\b`);
  if (named.test(`${stdout}`) || `${stdout}`.includes('eth0'))
    throw new Error(`the ${pod.side} left something of ${pod.ip}`);
}
