/** The configuration in force, and what people may see of it. */
import { readFileSync } from 'node:fs';
import { type Config, configOf } from '../core/config.ts';
import { type Layer, layered, layerOf } from '../core/config-layers.ts';
import { type ConfigReport, configValues, otherNotes } from '../core/config-report.ts';
import type { Configured } from '../core/config-step.ts';
import { EnactorError } from '../core/errors.ts';
import type { Flags } from './flags.ts';

export class ConfigKeeper {
  readonly #flags: Flags;
  readonly #now: Configured;

  /** Throws EnactorError when the file cannot be read or is refused. */
  constructor(flags: Flags) {
    this.#flags = flags;
    this.#now = this.#configured(layerOf('file', textOf(flags.config)));
  }

  /** What is in force. */
  get config(): Config {
    return this.#now.config;
  }

  report(): ConfigReport {
    const { layered: layers, config } = this.#now;
    return {
      file: this.#flags.config,
      overlay: { configMap: null, state: 'unknown' },
      values: configValues(layers, config, null),
      flags: this.#flags.told,
      refusals: [],
      notes: otherNotes(config),
    };
  }

  #configured(file: Layer): Configured {
    const layers = layered([file, ...flagLayers(this.#flags)]);
    return { layered: layers, config: configOf(layers.keys, this.#flags.nodeName) };
  }
}

/** Flags that stand for keys win over file and overlay. */
function flagLayers({ logLevel }: Flags): readonly Layer[] {
  return logLevel === null ? [] : [{ source: 'flag --log-level', keys: { log_level: logLevel } }];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    throw new EnactorError('invalidArgument', `--config: ${(thrown as Error).message}`, thrown);
  }
}
