/**
 * One call of the plugin, from environment and stdin to what is printed. The order of the checks is the reference skeleton's:
 * environment, stdin, configuration, verb against version, version, verb.
 */
import { type BackendClient, backendClient, type Post } from '../adapters/http/backend-client.ts';
import { PLUGIN_MARK } from '../core/plugin-mark.ts';
import { add } from './add.ts';
import { check } from './check.ts';
import { CNI_CODE, CniError, cniErrorOf, errorObject } from './cni-error.ts';
import { NEWEST_VERSION, requireVersion, SUPPORTED_VERSIONS } from './cni-version.ts';
import { type Configuration, parseConfiguration, versionIn } from './configuration.ts';
import { type CallLimits, DaemonCalls } from './daemon-calls.ts';
import { del } from './del.ts';
import { gc } from './gc.ts';
import { type Environment, type Invocation, parseInvocation } from './invocation.ts';
import { pluginLog } from './plugin-log.ts';
import type { PodDatapath } from './pod-datapath.ts';
import { status } from './status.ts';
import type { VerbContext } from './verb.ts';

export type PluginPorts = {
  readonly env: Environment;
  /** Throws CniError 5. */
  readonly readStdin: () => Buffer;
  readonly post: Post;
  /** Terway's daemon in our form. */
  readonly terway: (configuration: Configuration) => Promise<BackendClient>;
  /** Made only for the verbs that need it. */
  readonly datapath: () => PodDatapath;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  readonly limits: CallLimits;
};

/** `stdout` null prints nothing. */
export type Answer = { readonly exitCode: number; readonly stdout: object | null; readonly stderr: string };

const DONE: Answer = { exitCode: 0, stdout: null, stderr: '' };

/** Never rejects. */
export async function runPlugin(ports: PluginPorts): Promise<Answer> {
  let cniVersion = NEWEST_VERSION;
  try {
    if ((ports.env.CNI_COMMAND ?? '') === '') return about();
    const invocation = parseInvocation(ports.env);
    if (invocation.command === 'VERSION') return version(ports);
    const bytes = ports.readStdin();
    cniVersion = versionIn(bytes, NEWEST_VERSION);
    const configuration = parseConfiguration(bytes);
    cniVersion = configuration.cniVersion;
    requireVersion(invocation.command, configuration.cniVersion);
    return await runVerb(ports, invocation, configuration);
  } catch (error) {
    return { exitCode: 1, stdout: errorObject(cniErrorOf(error), cniVersion), stderr: '' };
  }
}

async function runVerb(ports: PluginPorts, invocation: Invocation, configuration: Configuration): Promise<Answer> {
  const verbs: Readonly<Record<string, (context: VerbContext) => Promise<object | null>>> = {
    ADD: add,
    DEL: del,
    CHECK: check,
    GC: gc,
    STATUS: status,
  };
  const verb = verbs[invocation.command];
  if (verb === undefined) {
    throw new CniError(CNI_CODE.invalidEnvironment, `CNI_COMMAND ${JSON.stringify(invocation.command)} is unknown`);
  }
  const log = pluginLog(configuration, ports.nowMs);
  const startMs = ports.nowMs();
  const { command, containerId, ifName, traceParent } = invocation;
  const fields = { command, containerId, ifName, ...(traceParent === null ? {} : { trace: traceParent }) };
  try {
    const result = await verb({
      invocation,
      configuration,
      daemon: new DaemonCalls(await connect(ports, configuration, invocation), ports.limits),
      datapath: ports.datapath(),
      log,
      nowMs: ports.nowMs,
      signal: ports.signal,
    });
    log.debug({ ...fields, ms: ports.nowMs() - startMs }, 'done');
    return { ...DONE, stdout: result };
  } catch (error) {
    const { code, message, details } = cniErrorOf(error);
    log.warn({ ...fields, code, error: message, details, ms: ports.nowMs() - startMs }, 'failed');
    throw error;
  }
}

async function connect(
  { post, terway }: PluginPorts,
  configuration: Configuration,
  { traceParent }: Invocation,
): Promise<BackendClient> {
  if (configuration.daemon === 'terway') return terway(configuration);
  return backendClient(configuration.daemonSocket, post, traceParent === null ? {} : { traceparent: traceParent });
}

/** Answers in the caller's version, whatever it is, and also when stdin says nothing. Source: CNI SPEC 1.1, VERSION. */
function version({ readStdin }: PluginPorts): Answer {
  let cniVersion = NEWEST_VERSION;
  try {
    cniVersion = versionIn(readStdin(), NEWEST_VERSION);
  } catch {
    // VERSION has to work with an unreadable stdin too.
  }
  return { ...DONE, stdout: { cniVersion, supportedVersions: SUPPORTED_VERSIONS } };
}

function about(): Answer {
  const stderr = `enactor-cni: ${PLUGIN_MARK}; CNI versions ${SUPPORTED_VERSIONS.join(', ')}\n`;
  return { ...DONE, stderr };
}
