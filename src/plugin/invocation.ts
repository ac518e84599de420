/**
 * What the runtime says by environment variables.
 *
 * All that is wrong is told in one error that names every variable. CNI_PATH is asked for on ADD and CHECK as the reference
 * library does, not on DEL, which has to work with little. Source: CNI SPEC 1.1, section 2, "Parameters"; libcni utils.
 */
import { traceParentIn } from '../core/trace-parent.ts';
import { CNI_CODE, CniError } from './cni-error.ts';

export type Invocation = {
  readonly command: string;
  readonly containerId: string;
  /** '' when the runtime gave none (only DEL may). */
  readonly netns: string;
  readonly ifName: string;
  readonly args: string;
  /** The runtime means its own namespace on purpose. */
  readonly netnsOverride: boolean;
  /** The trace that this start of a pod is a part of, if the runtime named one. */
  readonly traceParent: string | null;
};

export type Environment = Readonly<Record<string, string | undefined>>;

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ADD: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'],
  CHECK: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'],
  DEL: ['CNI_CONTAINERID', 'CNI_IFNAME'],
  GC: ['CNI_PATH'],
};

const IF_NAME_MAX_BYTES = 15; // IFNAMSIZ with its NUL is 16

/** Throws CniError 4. Of an unknown command nothing is required: it is judged after the configuration, as the reference does. */
export function parseInvocation(env: Environment): Invocation {
  const command = env.CNI_COMMAND ?? '';
  const required = REQUIRED[command] ?? [];
  const missing = required.filter((name) => (env[name] ?? '') === '');
  const malformed = [
    required.includes('CNI_CONTAINERID') ? containerIdProblem(env.CNI_CONTAINERID ?? '') : null,
    required.includes('CNI_IFNAME') ? ifNameProblem(env.CNI_IFNAME ?? '') : null,
  ].filter((problem) => problem !== null);
  const problems = missing.length === 0 ? malformed : [...malformed, `required but not set: ${missing.join(', ')}`];
  if (problems.length > 0) throw new CniError(CNI_CODE.invalidEnvironment, problems.join('; '));
  return {
    command,
    containerId: env.CNI_CONTAINERID ?? '',
    netns: env.CNI_NETNS ?? '',
    ifName: env.CNI_IFNAME ?? '',
    args: env.CNI_ARGS ?? '',
    traceParent: traceParentIn(env.TRACEPARENT),
    netnsOverride: ['1', 'TRUE'].includes((env.CNI_NETNS_OVERRIDE ?? '').toUpperCase()),
  };
}

function containerIdProblem(id: string): string | null {
  if (id === '' || /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(id)) return null;
  return `CNI_CONTAINERID ${JSON.stringify(id)} has to be letters, digits, "_", "." or "-", the first a letter or digit`;
}

/** `%` too: the kernel would read `eth%d` as a pattern. */
function ifNameProblem(name: string): string | null {
  if (name === '') return null;
  const shown = `CNI_IFNAME ${JSON.stringify(name)}`;
  if (name === '.' || name === '..') return `${shown} is no interface name`;
  if (/[/:%\s]/.test(name)) return `${shown} holds one of "/", ":", "%" or white space`;
  const size = Buffer.byteLength(name);
  return size > IF_NAME_MAX_BYTES ? `${shown} has ${size} bytes; the limit is ${IF_NAME_MAX_BYTES}` : null;
}
