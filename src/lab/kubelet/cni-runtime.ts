/**
 * The part of a container runtime that calls CNI plugins: finds the network's configuration, runs its plugins with the CNI
 * environment inside the node's namespace, and reads what they print.
 *
 * Like libcni it keeps the result of ADD and hands it to CHECK and DEL; a list of several plugins is run in order, backwards for DEL.
 * Source: CNI SPEC 1.0, sections 2 and 3; containerd picks the first file of the directory by name.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Netns } from '../netns/netns.ts';

export type CniVerb = 'ADD' | 'DEL' | 'CHECK';

export type CniCall = {
  readonly verb: CniVerb;
  /** The node's namespace, where the plugin runs. */
  readonly host: Netns;
  /** CNI_PATH, where the plugins are. */
  readonly pluginDir: string;
  readonly confDir: string;
  readonly containerId: string;
  readonly netnsPath: string;
  readonly ifName: string;
  /** CNI_ARGS. */
  readonly args: Readonly<Record<string, string>>;
  readonly prevResult: CniResult | null;
  /** Host ports of the pod: with any, Debian's portmap plugin is run after those of the list, as chained configurations do. */
  readonly portMappings?: readonly PortMapping[];
};

export type PortMapping = {
  readonly hostPort: number;
  readonly containerPort: number;
  readonly protocol: 'tcp' | 'udp';
};

export type CniResult = {
  readonly cniVersion: string;
  readonly ips: readonly { readonly address: string; readonly gateway?: string }[];
} & Readonly<Record<string, unknown>>;

/** What a plugin said when it failed; code 0 when it said nothing that can be read. */
export class CniError extends Error {
  override readonly name = 'CniError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

type NetworkConf = { readonly name: string; readonly cniVersion: string; readonly plugins: readonly PluginConf[] };
type PluginConf = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Source: Debian's containernetworking-plugins. */
export const DISTRIBUTION_PLUGINS = '/usr/lib/cni';

/** Kubelet gives a sandbox two minutes; so does this. Source: cri-api timeouts. */
const PLUGIN_TIMEOUT_MS = 120_000;

/** The result of ADD, null for the other verbs. Throws CniError. */
export async function callCni(call: CniCall): Promise<CniResult | null> {
  const conf = await networkConf(call.confDir);
  let previous = call.prevResult;
  const plugins = [...conf.plugins, ...portmap(call)];
  for (const plugin of call.verb === 'DEL' ? plugins.toReversed() : plugins) {
    const stdin = {
      ...plugin,
      name: conf.name,
      cniVersion: conf.cniVersion,
      ...(previous === null ? {} : { prevResult: previous }),
    };
    const output = await runPlugin(call, plugin.type, JSON.stringify(stdin));
    if (call.verb === 'ADD') previous = resultOf(output);
  }
  return call.verb === 'ADD' ? previous : null;
}

/** Source: containernetworking/plugins, plugins/meta/portmap; with `snat` it masquerades what comes back to the node, as by default. */
function portmap({ portMappings = [] }: CniCall): PluginConf[] {
  return portMappings.length === 0
    ? []
    : [{ type: 'portmap', capabilities: { portMappings: true }, snat: true, runtimeConfig: { portMappings } }];
}

/** Throws CniError, as a runtime says it, while no network is installed. */
async function networkConf(dir: string): Promise<NetworkConf> {
  const files = await readdir(dir).catch((): string[] => []);
  const first = files.filter((name) => name.endsWith('.conflist')).sort()[0];
  if (first === undefined) throw new CniError(0, `no network config found in ${dir}: cni plugin not initialized`);
  const conf: unknown = JSON.parse(await readFile(join(dir, first), 'utf8'));
  if (!isNetworkConf(conf)) throw new CniError(0, `${first} is no network configuration list`);
  return conf;
}

/** In the directory of ours, else where the distribution puts those of the CNI project. */
function programOf({ pluginDir }: CniCall, type: string): string {
  const own = join(pluginDir, type);
  return existsSync(own) ? own : join(DISTRIBUTION_PLUGINS, type);
}

async function runPlugin(call: CniCall, type: string, stdin: string): Promise<string> {
  const { command, args } = call.host.command(programOf(call, type), []);
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: PLUGIN_TIMEOUT_MS,
    killSignal: 'SIGKILL',
    env: {
      PATH: process.env.PATH,
      CNI_COMMAND: call.verb,
      CNI_CONTAINERID: call.containerId,
      CNI_NETNS: call.netnsPath,
      CNI_IFNAME: call.ifName,
      CNI_PATH: call.pluginDir,
      CNI_ARGS: Object.entries(call.args)
        .map(([key, value]) => `${key}=${value}`)
        .join(';'),
    },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {}); // a plugin that ends early says so by its exit code
  child.stdin.end(stdin);
  const ended = await new Promise<number | string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  if (ended === 0) return stdout;
  const error = errorOf(stdout);
  throw new CniError(error.code, error.text || stderr.trim() || `${type} ended with ${ended} and said nothing`);
}

function errorOf(stdout: string): { code: number; text: string } {
  try {
    const value: unknown = JSON.parse(stdout);
    if (typeof value !== 'object' || value === null) return { code: 0, text: '' };
    const field = (key: string): unknown => (value as Record<string, unknown>)[key];
    const text = [field('msg'), field('details')].filter((part) => typeof part === 'string' && part !== '').join(': ');
    return { code: Number(field('code') ?? 0), text };
  } catch {
    return { code: 0, text: stdout.trim() };
  }
}

function resultOf(stdout: string): CniResult {
  const value: unknown = JSON.parse(stdout);
  if (!isResult(value)) throw new CniError(0, `the plugin printed no result: ${stdout.slice(0, 200)}`);
  return value;
}

function isResult(value: unknown): value is CniResult {
  return typeof value === 'object' && value !== null && 'ips' in value && Array.isArray(value.ips);
}

function isNetworkConf(value: unknown): value is NetworkConf {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'cniVersion' in value &&
    'plugins' in value &&
    Array.isArray(value.plugins) &&
    value.plugins.length > 0
  );
}
