/** What `enactor config` shows: each key's effective value and who said it, what waits for a restart, and what was refused. No secrets. */
import type { Config } from './config.ts';
import { type Change, configKeys, isKeyName, type KeyName, keyNames } from './config-keys.ts';
import type { Layered } from './config-layers.ts';
import type { ConfigIssue } from './config-refusal.ts';
import { saysNothing } from './daemon-mode.ts';
import { isObject } from './merge-patch.ts';
import { isUnsaid } from './unsaid.ts';

export const MASK = '******';

export type EffectiveValue = {
  /** As the file would say it; null when it is told in words, or not set. */
  readonly value: unknown;
  /** What holds when no value does: `those of the primary ENI`. */
  readonly words: string | null;
  /** `default`, `file`, `overlay NAME`, `flag --log-level`. */
  readonly source: string;
};

export type ConfigValue = EffectiveValue & {
  readonly key: string;
  readonly change: Change;
  /** Why it is not as it was written. */
  readonly note: string | null;
  /** What it is after a restart. */
  readonly pending: EffectiveValue | null;
};

export type ConfigProblem = ConfigIssue & { readonly source: string; readonly sinceMs: number };

export type FlagValue = {
  readonly flag: string;
  readonly value: string;
  readonly source: 'default' | 'flag' | 'environment';
};

export type OverlayReport = {
  /** namespace/name of the ConfigMap that the node's label names; null when the node has no such label. */
  readonly configMap: string | null;
  /** remembered: the API server has not told yet, and this is what it said last. */
  readonly state: 'unknown' | 'none' | 'applied' | 'remembered' | 'refused' | 'missing';
};

export type ConfigReport = {
  readonly file: string;
  readonly overlay: OverlayReport;
  readonly values: readonly ConfigValue[];
  readonly flags: readonly FlagValue[];
  /** Why what was written last is not in force: the values above are those of before. */
  readonly refusals: readonly ConfigProblem[];
  /** Keys that are taken and do nothing. */
  readonly notes: readonly ConfigIssue[];
};

/** One key's value with the default filled in, masked. */
export function effectiveValue(key: KeyName, { keys, sources }: Layered, config: Config): EffectiveValue {
  const row = configKeys[key];
  const { settings } = config;
  const read = READ_OTHERWISE[key]?.(config);
  const given = keys[key];
  const source = sources[key] ?? 'default';
  if (saysNothing(config.daemonMode, key)) return { value: null, words: 'not used: daemon_mode is VPC', source };
  if (key === 'pool_period' && given === undefined && !isUnsaid(keys.ip_pool_sync_period))
    return {
      value: keys.ip_pool_sync_period,
      words: null,
      source: `ip_pool_sync_period, ${sources.ip_pool_sync_period}`,
    };
  if (key === 'security_groups' && settings.securityGroupIds !== null) {
    const from = [sources.security_group, sources.security_groups].filter((one) => one !== undefined);
    return { value: settings.securityGroupIds, words: null, source: [...new Set(from)].join(', ') };
  }
  if (isUnsaid(given)) {
    const { otherwise } = row;
    const words = isObject(otherwise) && typeof otherwise.words === 'string' ? otherwise.words : null;
    return { value: words === null ? otherwise : null, words, source: given === undefined ? source : 'default' };
  }
  if ('secret' in row) return { value: MASK, words: null, source };
  return { value: read ?? given, words: null, source };
}

/** What becomes of a value that is not taken as it was written. */
const READ_OTHERWISE: Partial<Record<KeyName, (config: Config) => unknown>> = {
  min_pool_size: ({ settings }) => settings.minIdle,
  eni_tags: ({ settings }) => settings.eniTags,
  idle_ip_reclaim_batch_size: ({ settings }) => settings.reclaim.batchSize,
  eni_cap_ratio: ({ settings }) => settings.eniCapRatio,
};

/** @param wanted what was written last, when it differs from what is in force: differing keys wait for a restart */
export function configValues(
  layered: Layered,
  config: Config,
  wanted: { readonly layered: Layered; readonly config: Config } | null,
): readonly ConfigValue[] {
  return keyNames.map((key) => {
    const now = effectiveValue(key, layered, config);
    const then = wanted === null ? now : effectiveValue(key, wanted.layered, wanted.config);
    // A masked value looks alike whatever it is.
    const differs = wanted !== null && !same(layered.keys[key], wanted.layered.keys[key]);
    return {
      key,
      ...now,
      change: configKeys[key].change,
      note: config.notes.find((note) => note.key === key)?.why ?? null,
      pending: differs ? then : null,
    };
  });
}

export const otherNotes = ({ notes }: Config): readonly ConfigIssue[] => notes.filter(({ key }) => !isKeyName(key));

/** Of JSON values; the order of keys does not count. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, at) => same(one, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}
