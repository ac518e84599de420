/**
 * CNI_ARGS, `KEY=VALUE;KEY=VALUE`: who the pod is. Read as strictly as the reference does (a value cannot hold `=`, an empty
 * pair is an error, an unknown key needs IgnoreUnknown), except on DEL, which takes what it can read.
 * Source: CNI SPEC 1.1, CNI_ARGS; libcni types/args.go; kubelet's keys.
 */
import { CNI_CODE, CniError } from './cni-error.ts';

export type PodArgs = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | null;
  /** '' when not sent. */
  readonly infraContainerId: string;
};

const KNOWN: readonly string[] = [
  'IgnoreUnknown',
  'K8S_POD_NAMESPACE',
  'K8S_POD_NAME',
  'K8S_POD_INFRA_CONTAINER_ID',
  'K8S_POD_UID',
];

/** Throws CniError 4 that names CNI_ARGS. */
export function parsePodArgs(text: string): PodArgs {
  const pairs = splitPairs(text);
  const broken = pairs.find((pair) => pair.length !== 2 || pair[0] === '');
  if (broken !== undefined) throw invalid(`holds ${JSON.stringify(broken.join('='))}, which is not KEY=VALUE`);
  const values = new Map(pairs as [string, string][]);
  const unknown = [...values.keys()].filter((key) => !KNOWN.includes(key));
  if (!ignoresUnknown(values.get('IgnoreUnknown')) && unknown.length > 0) {
    throw invalid(`has unknown keys without IgnoreUnknown=1: ${unknown.join(', ')}`);
  }
  const missing = ['K8S_POD_NAMESPACE', 'K8S_POD_NAME'].filter((key) => (values.get(key) ?? '') === '');
  if (missing.length > 0) throw invalid(`lacks ${missing.join(', ')}`);
  return podArgs(values);
}

/** Never throws: a deletion goes by container id, the pod's name only helps. */
export function readPodArgs(text: string): PodArgs {
  return podArgs(new Map(splitPairs(text).map(([key = '', ...value]) => [key, value.join('=')])));
}

function podArgs(values: ReadonlyMap<string, string>): PodArgs {
  return {
    namespace: values.get('K8S_POD_NAMESPACE') ?? '',
    name: values.get('K8S_POD_NAME') ?? '',
    uid: values.get('K8S_POD_UID') || null,
    infraContainerId: values.get('K8S_POD_INFRA_CONTAINER_ID') ?? '',
  };
}

function splitPairs(text: string): string[][] {
  return text === '' ? [] : text.split(';').map((pair) => pair.split('='));
}

function ignoresUnknown(value: string | undefined): boolean {
  const word = (value ?? 'false').toLowerCase();
  if (word === '1' || word === 'true') return true;
  if (word === '0' || word === 'false') return false;
  throw invalid(`has IgnoreUnknown=${value}, which is neither true nor false`);
}

function invalid(text: string): CniError {
  return new CniError(CNI_CODE.invalidEnvironment, `CNI_ARGS ${text}`);
}
