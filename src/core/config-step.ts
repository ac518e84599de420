/**
 * From the configuration in force to the one that was written last: keys that are `live` are taken, those that need a restart stay as they
 * are. What is taken has to be a whole that would be accepted by itself. Pure.
 */
import { type Config, configOf } from './config.ts';
import { configKeys, type KeyName, keyNames } from './config-keys.ts';
import type { Layered } from './config-layers.ts';
import { same } from './config-report.ts';

export type Configured = { readonly layered: Layered; readonly config: Config };

export type ConfigStep = {
  /** What is in force afterwards. */
  readonly next: Configured;
  readonly taken: readonly KeyName[];
  /** Waits for a restart. */
  readonly pending: readonly KeyName[];
};

/** Throws ConfigRefused when what was written is wrong, or cannot be taken without what waits for a restart. */
export function stepTo(now: Configured, wanted: Configured, nodeName: string): ConfigStep {
  const differing = keyNames.filter((key) => !same(now.layered.keys[key], wanted.layered.keys[key]));
  const taken = differing.filter((key) => configKeys[key].change === 'live');
  const pending = differing.filter((key) => configKeys[key].change === 'restart');
  if (pending.length === 0) return { next: wanted, taken, pending };
  // Keys of others come along as they are written: they do nothing.
  const keys: Record<string, unknown> = { ...wanted.layered.keys };
  const sources: Record<string, string> = { ...wanted.layered.sources };
  for (const key of pending) {
    put(keys, key, now.layered.keys[key]);
    put(sources, key, now.layered.sources[key]);
  }
  return { next: { layered: { keys, sources }, config: configOf(keys, nodeName) }, taken, pending };
}

function put<T>(object: Record<string, T>, key: string, value: T | undefined): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}
