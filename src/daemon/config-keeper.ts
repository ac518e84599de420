/**
 * The configuration in force: file, overlay and flags, read at start and followed afterwards.
 *
 * What was written last is taken whole or not at all: with one key that is wrong, or does not fit the instance, all stays as it was and
 * the refusal says why. Of what is right the keys that only the next decision looks at are taken at once; the others wait for a restart,
 * and are told as waiting. Nothing is lost by either: what was written last is looked at again whenever any part of it changes.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, configOf } from '../core/config.ts';
import { type Layer, layered, layerOf } from '../core/config-layers.ts';
import { ConfigRefused } from '../core/config-refusal.ts';
import {
  type ConfigProblem,
  type ConfigReport,
  configValues,
  type OverlayReport,
  otherNotes,
} from '../core/config-report.ts';
import { type ConfigStep, type Configured, stepTo } from '../core/config-step.ts';
import { EnactorError, failureOf } from '../core/errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { FileSight } from './file-watch.ts';
import type { Flags } from './flags.ts';
import type { Overlay } from './overlay-watch.ts';

/** After what was right could not be taken, since the node does not serve yet or the cloud does not answer. */
const AGAIN_MS = 2_000;

/** Makes a configuration the one that holds. Rejects with EnactorError: `invalidArgument` when it does not fit the instance. */
export type Take = (config: Config, signal: AbortSignal) => Promise<void>;

/** For people: something was taken, or refused, or waits. */
export type ConfigNews = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'ConfigChanged' | 'ConfigNeedsRestart' | 'ConfigError';
  readonly message: string;
};

export type ConfigKeeperParts = {
  readonly flags: Pick<Flags, 'config' | 'nodeName' | 'logLevel' | 'readOnly' | 'namespace' | 'told'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The overlay of an earlier life. */
  readonly remembered: Overlay | null;
  /** An overlay that holds, to be remembered. */
  readonly remember: (overlay: Overlay) => void;
};

export class ConfigKeeper {
  readonly #parts: ConfigKeeperParts;
  /** What was written last, and could be read. */
  #file: FileSight;
  #overlay: Overlay | null;
  #overlayHeard = false;
  /** The one that is remembered, as far as this life has seen to it. */
  #kept: Overlay | null = null;
  #now: Configured;
  /** What was written last, if it is right; it is `#now` when nothing of it waits. */
  #wanted: Written;
  /** The last one that was right and fitted: what a refusal leaves as it was. */
  #settled: Written;
  #refusals: readonly ConfigProblem[] = [];
  #take: Take | null = null;
  #news: (news: ConfigNews) => void = () => {};
  #changed: () => void = () => {};

  /** Throws EnactorError when the file cannot be read or is refused. An overlay that is refused is left out, and told of. */
  constructor(parts: ConfigKeeperParts) {
    this.#parts = parts;
    const text = textOf(parts.flags.config);
    this.#file = { text };
    this.#overlay = parts.remembered;
    this.#now = this.#configured([layerOf('file', text)]);
    this.#wanted = { ...this.#now, overlay: null };
    this.#now = this.#wanted;
    this.#settled = this.#wanted;
    this.#reconsider();
  }

  /** What is in force. */
  get config(): Config {
    return this.#now.config;
  }

  get fileText(): string {
    return 'text' in this.#file ? this.#file.text : '';
  }

  /** Somebody has told which overlay there is, if any: lately or in an earlier life. */
  get knowsOverlay(): boolean {
    return this.#overlay !== null;
  }

  fileSaid(sight: FileSight): void {
    this.#file = sight;
    this.#reconsider();
  }

  overlaySaid(overlay: Overlay): void {
    const { log, flags } = this.#parts;
    this.#overlayHeard = true;
    this.#overlay = overlay;
    if (overlay.configMap !== null && overlay.text === null)
      log.warn(
        { configMap: overlay.configMap, namespace: flags.namespace },
        'the overlay is not there: the file alone holds',
      );
    this.#reconsider();
  }

  /**
   * From now on a change has to be taken by a running node: `take` is asked, one at a time, until `end` fires. Before that whatever is
   * right simply holds.
   */
  async follow(take: Take, news: (news: ConfigNews) => void, end: AbortSignal): Promise<void> {
    this.#take = take;
    this.#news = news;
    if (this.#refusals.length > 0) this.#tellRefused(this.#refusals);
    const ended = aborted(end);
    let failed = '';
    while (!end.aborted) {
      const change = new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
      const wanted = this.#wanted;
      const trouble = wanted === this.#now ? null : await this.#advance(wanted, take, end);
      if (trouble !== null && trouble !== failed)
        this.#parts.log.warn({ why: trouble }, 'a changed configuration cannot be taken yet');
      failed = trouble ?? '';
      const again = trouble === null ? [] : [sleep(AGAIN_MS, undefined, { signal: end }).catch(() => {})];
      if (this.#wanted === wanted) await Promise.race([change, ended, ...again]);
    }
  }

  report(): ConfigReport {
    const { layered: layers, config } = this.#now;
    return {
      file: this.#parts.flags.config,
      overlay: this.#overlayReport(),
      values: configValues(layers, config, this.#wanted === this.#now ? null : this.#wanted),
      flags: this.#parts.flags.told,
      refusals: this.#refusals,
      notes: otherNotes(config),
    };
  }

  /** What was written last: right or wrong? */
  #reconsider(): void {
    try {
      const layers = this.#layers();
      const wanted: Written = { ...this.#configured(layers), overlay: this.#overlay };
      this.#refuse([]);
      const started = this.#take !== null;
      this.#wanted = wanted;
      if (!started) {
        this.#settled = wanted;
        this.#holds(wanted, wanted.overlay);
      }
    } catch (thrown) {
      if (!(thrown instanceof LayerRefused)) throw thrown;
      this.#refuse(thrown.problems);
      this.#wanted = this.#settled;
    }
    this.#changed();
  }

  #layers(): readonly Layer[] {
    const nowMs = this.#parts.clock.nowMs();
    const read = (source: string, text: string): Layer => {
      try {
        return layerOf(source, text);
      } catch (thrown) {
        throw new LayerRefused(problemsOf(thrown, () => source, nowMs));
      }
    };
    if ('why' in this.#file) throw new LayerRefused([{ source: 'file', key: '', why: this.#file.why, sinceMs: nowMs }]);
    const { configMap = null, text = null } = this.#overlay ?? {};
    const overlay = configMap === null || text === null ? [] : [read(`overlay ${configMap}`, text)];
    return [read('file', this.#file.text), ...overlay];
  }

  /** Throws LayerRefused naming the layer of each key at fault. */
  #configured(layers: readonly Layer[]): Configured {
    const { flags, clock } = this.#parts;
    const all = layered([...layers, ...flagLayers(flags)]);
    try {
      return { layered: all, config: configOf(all.keys, flags.nodeName) };
    } catch (thrown) {
      throw new LayerRefused(
        problemsOf(thrown, (key) => all.sources[key.split('.')[0] ?? ''] ?? 'file', clock.nowMs()),
      );
    }
  }

  /** Takes what can be taken. Resolves to why it could not be done yet; null when it is done, or refused. */
  async #advance(wanted: Written, take: Take, end: AbortSignal): Promise<string | null> {
    let step: ConfigStep;
    try {
      step = stepTo(this.#now, wanted, this.#parts.flags.nodeName);
      if (step.taken.length > 0) await take(step.next.config, end);
    } catch (thrown) {
      const { code, detail } = failureOf(thrown);
      if (code !== 'invalidArgument') return detail;
      if (this.#wanted === wanted) {
        const nowMs = this.#parts.clock.nowMs();
        this.#wanted = this.#settled;
        this.#refuse(
          thrown instanceof ConfigRefused
            ? problemsOf(thrown, () => 'what was written last, until a restart', nowMs)
            : [{ source: 'what was written last', key: '', why: detail, sinceMs: nowMs }],
        );
      }
      return null;
    }
    const { next, taken, pending } = step;
    const { log } = this.#parts;
    // When nothing waits what was written is what holds, and is found to be so by being the same.
    const asWritten = pending.length === 0 && this.#wanted === wanted;
    this.#holds(asWritten ? wanted : next, wanted.overlay);
    this.#settled = wanted;
    if (taken.length > 0) {
      log.info({ keys: taken }, 'the configuration has changed');
      this.#news({
        type: 'Normal',
        reason: 'ConfigChanged',
        message: `the configuration has changed: ${taken.join(', ')}`,
      });
    }
    if (pending.length > 0 && this.#waiting !== pending.join()) {
      log.warn({ keys: pending }, 'a change of the configuration needs a restart');
      const message = `a change needs a restart of the daemon: ${pending.join(', ')}`;
      this.#news({ type: 'Normal', reason: 'ConfigNeedsRestart', message });
    }
    this.#waiting = pending.join();
    return null;
  }

  /** Keys that wait for a restart, as they were told last. */
  #waiting = '';

  /** @param overlay the one that it came with */
  #holds(configured: Configured, overlay: Overlay | null): void {
    this.#now = configured;
    if (overlay === null || overlay === this.#kept || !this.#overlayHeard) return;
    try {
      this.#parts.remember(overlay);
      this.#kept = overlay;
    } catch (thrown) {
      this.#parts.log.debug({ err: String(thrown) }, 'the overlay cannot be remembered');
    }
  }

  #refuse(problems: readonly ConfigProblem[]): void {
    const known = (one: ConfigProblem) =>
      this.#refusals.find(({ source, key, why }) => source === one.source && key === one.key && why === one.why);
    const fresh = problems.filter((one) => known(one) === undefined);
    if (fresh.length > 0) this.#tellRefused(fresh);
    this.#refusals = problems.map((one) => known(one) ?? one);
  }

  /** One event for all of them: those of one reason would overwrite each other. */
  #tellRefused(problems: readonly ConfigProblem[]): void {
    for (const { source, key, why } of problems)
      this.#parts.log.error({ source, key, why }, 'a configuration is refused: what was before holds');
    const all = problems.map(({ source, key, why }) => `${key === '' ? source : `${key} (${source})`}: ${why}`);
    const message = `refused, what was before holds: ${all.join('; ')}`;
    this.#news({ type: 'Warning', reason: 'ConfigError', message });
  }

  #overlayReport(): OverlayReport {
    const { configMap, text } = this.#overlay ?? {};
    if (configMap === undefined) return { configMap: null, state: 'unknown' };
    if (configMap === null) return { configMap, state: 'none' };
    const named = `${this.#parts.flags.namespace}/${configMap}`;
    const refused = this.#refusals.some(({ source }) => source.includes(`overlay ${configMap}`));
    if (refused) return { configMap: named, state: 'refused' };
    if (!this.#overlayHeard) return { configMap: named, state: 'remembered' };
    return { configMap: named, state: text === null ? 'missing' : 'applied' };
  }
}

/** With the overlay that it came with. */
type Written = Configured & { readonly overlay: Overlay | null };

/** What was written is wrong: all of it, each with its layer. */
class LayerRefused extends EnactorError {
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super('invalidArgument', new ConfigRefused(problems).detail);
    this.problems = problems;
  }
}

/** Throws what is no refusal. */
function problemsOf(thrown: unknown, sourceOf: (key: string) => string, sinceMs: number): readonly ConfigProblem[] {
  if (!(thrown instanceof ConfigRefused)) throw thrown;
  return thrown.issues.map((issue) => ({ ...issue, source: sourceOf(issue.key), sinceMs }));
}

/** Flags that stand for keys win over file and overlay. */
function flagLayers({ logLevel, readOnly }: Pick<Flags, 'logLevel' | 'readOnly'>): readonly Layer[] {
  return [
    ...(logLevel === null ? [] : [{ source: 'flag --log-level', keys: { log_level: logLevel } }]),
    ...(readOnly ? [{ source: 'flag --read-only', keys: { read_only: true } }] : []),
  ];
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    throw new EnactorError('invalidArgument', `--config: ${(thrown as Error).message}`, thrown);
  }
}
